// Draws a run: a line, a bar, and its tree as rows of boxes. All text comes from strangers and is set as text.

const ROW_PX = 18;
const SVG = 'http://www.w3.org/2000/svg';

function element(name, className) {
  const made = document.createElement(name);
  made.className = className;
  return made;
}

/** Neighbours in the list of hosts get colours that differ. */
function colour(host) {
  return `hsl(${(205 + host * 137.5) % 360} 50% 55%)`;
}

function setText(of, text) {
  if (of.textContent !== text) of.textContent = text;
}

function newBox() {
  const box = document.createElementNS(SVG, 'rect');
  box.append(document.createElementNS(SVG, 'title'));
  return box;
}

/** Boxes stay where they are as long as possible: what the pointer shows would vanish with them. */
function drawTree(drawn, boxes) {
  const rows = boxes.reduce((rows, [, , row]) => Math.max(rows, row + 1), 0);
  drawn.setAttribute('height', String(rows * ROW_PX));
  drawn.setAttribute('aria-label', `The tree of the run: ${boxes.length} jobs in ${rows} rows`);
  while (drawn.children.length > boxes.length) drawn.lastChild.remove();
  while (drawn.children.length < boxes.length) drawn.append(newBox());
  boxes.forEach(([left, width, row, host, state, label], index) => {
    const box = drawn.children[index];
    box.setAttribute('x', `${left * 100}%`);
    box.setAttribute('y', String(row * ROW_PX));
    box.setAttribute('width', `${width * 100}%`);
    box.setAttribute('height', String(ROW_PX - 1));
    box.setAttribute('fill', colour(host));
    box.setAttribute('data-state', state);
    setText(box.firstChild, label);
  });
}

function drawHosts(list, hosts) {
  while (list.children.length > hosts.length) list.lastChild.remove();
  while (list.children.length < hosts.length) list.append(element('span', 'sateen-host'));
  hosts.forEach((host, index) => {
    setText(list.children[index], host);
    list.children[index].style.setProperty('--host', colour(index));
  });
}

function render({ model, el }) {
  const title = element('p', 'sateen-title');
  const line = element('p', 'sateen-line');
  const bar = element('progress', 'sateen-progress');
  bar.setAttribute('aria-label', 'Progress of the run');
  const tree = document.createElementNS(SVG, 'svg');
  tree.setAttribute('class', 'sateen-tree');
  tree.setAttribute('role', 'img');
  const hosts = element('p', 'sateen-hosts');
  const problem = element('p', 'sateen-problem');
  const view = element('div', 'sateen-run');
  view.append(title, line, bar, tree, hosts, problem);
  el.append(view);
  const draw = () => {
    const shown = model.get('shown');
    view.dataset.state = shown.state ?? '';
    setText(title, shown.title ?? '');
    setText(line, shown.line ?? '');
    bar.hidden = typeof shown.progress !== 'number';
    bar.value = shown.progress ?? 0;
    const boxes = shown.boxes ?? [];
    tree.style.display = boxes.length > 0 ? '' : 'none';
    drawTree(tree, boxes);
    drawHosts(hosts, shown.hosts ?? []);
    problem.hidden = !shown.problem;
    setText(problem, shown.problem ?? '');
  };
  model.on('change:shown', draw);
  draw();
  return () => model.off('change:shown', draw);
}

export default { render };
