// Draws a run: a line, a bar, and its tree as rows of boxes. All text comes from strangers and is set as text.

const ROW_PX = 18;
const SVG = 'http://www.w3.org/2000/svg';

function element(name, className, text) {
  const made = document.createElement(name);
  made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

/** Neighbours in the list of hosts get colours that differ. */
function colour(host) {
  return `hsl(${(205 + host * 137.5) % 360} 50% 55%)`;
}

function tree(boxes) {
  const drawn = document.createElementNS(SVG, 'svg');
  const rows = boxes.reduce((rows, [, , row]) => Math.max(rows, row + 1), 0);
  drawn.setAttribute('class', 'sateen-tree');
  drawn.setAttribute('height', String(rows * ROW_PX));
  drawn.setAttribute('role', 'img');
  drawn.setAttribute('aria-label', `The tree of the run: ${boxes.length} jobs in ${rows} rows`);
  for (const [left, width, row, host, state, label] of boxes) {
    const box = document.createElementNS(SVG, 'rect');
    box.setAttribute('x', `${left * 100}%`);
    box.setAttribute('y', String(row * ROW_PX));
    box.setAttribute('width', `${width * 100}%`);
    box.setAttribute('height', String(ROW_PX - 1));
    box.setAttribute('fill', colour(host));
    box.setAttribute('data-state', state);
    const title = document.createElementNS(SVG, 'title');
    title.textContent = label;
    box.append(title);
    drawn.append(box);
  }
  return drawn;
}

function legend(hosts) {
  const list = element('p', 'sateen-hosts');
  hosts.forEach((host, index) => {
    const entry = element('span', 'sateen-host', host);
    entry.style.setProperty('--host', colour(index));
    list.append(entry);
  });
  return list;
}

function render({ model, el }) {
  const draw = () => {
    const { title, state, line, progress, boxes, hosts, problem } = model.get('shown');
    const view = element('div', 'sateen-run');
    view.dataset.state = state ?? '';
    view.append(element('p', 'sateen-title', title ?? ''), element('p', 'sateen-line', line ?? ''));
    if (typeof progress === 'number') {
      const bar = element('progress', 'sateen-progress');
      bar.value = progress;
      bar.setAttribute('aria-label', 'Progress of the run');
      view.append(bar);
    }
    if (boxes?.length) view.append(tree(boxes), legend(hosts ?? []));
    if (problem) view.append(element('p', 'sateen-problem', problem));
    el.replaceChildren(view);
  };
  model.on('change:shown', draw);
  draw();
  return () => model.off('change:shown', draw);
}

export default { render };
