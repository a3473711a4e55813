/** Light, dark, or as the system is. */

export type Choice = 'system' | 'light' | 'dark';

const KEY = 'sateen.theme';
const system = matchMedia('(prefers-color-scheme: dark)');
const still = matchMedia('(prefers-reduced-motion: reduce)');

function stored(): Choice {
  try {
    const word = localStorage.getItem(KEY);
    return word === 'light' || word === 'dark' ? word : 'system';
  } catch {
    return 'system';
  }
}

class Theme {
  choice = $state<Choice>(stored());
  #systemIsDark = $state(system.matches);
  isStill = $state(still.matches);
  isDark = $derived(this.choice === 'system' ? this.#systemIsDark : this.choice === 'dark');
  /** Names the theme that shows. */
  key = $derived(this.isDark ? 'dark' : 'light');

  constructor() {
    system.addEventListener('change', (event) => (this.#systemIsDark = event.matches));
    still.addEventListener('change', (event) => (this.isStill = event.matches));
    this.#show();
  }

  choose(choice: Choice): void {
    this.choice = choice;
    try {
      if (choice === 'system') localStorage.removeItem(KEY);
      else localStorage.setItem(KEY, choice);
    } catch {
      // Then it holds till the page is left.
    }
    this.#show();
  }

  #show(): void {
    if (this.choice === 'system') delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = this.choice;
  }
}

export const theme = new Theme();
