// Light or dark: as the system has it, or as the reader switches it.

const THEMES = ["auto", "light", "dark"];
const THEME_KEY = "anabranch-theme";

/** Colour of a variable of the page's style, as it is in the present theme. */
function colour(variable) {
  const probe = document.getElementById("theme");
  const before = probe.style.color;
  probe.style.color = `var(${variable})`;
  const found = getComputedStyle(probe).color;
  probe.style.color = before;
  return found;
}

/** Lets the button `theme` go through the themes; `changed` is called whenever colours change. */
function startTheme(changed) {
  const button = document.getElementById("theme");
  const set = (theme) => {
    document.documentElement.dataset.theme = theme;
    button.textContent = `Theme: ${theme}`;
    changed();
  };
  button.hidden = false;
  button.addEventListener("click", () => {
    const next = THEMES[(THEMES.indexOf(document.documentElement.dataset.theme) + 1) % THEMES.length];
    keep(next);
    set(next);
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", changed);
  set(kept());
}

// A browser may refuse to keep anything for pages that are files.
function keep(theme) {
  try {
    localStorage.setItem(THEME_KEY, theme);
  } catch {
    // The theme lasts as long as the page.
  }
}

function kept() {
  try {
    const theme = localStorage.getItem(THEME_KEY);
    return THEMES.includes(theme) ? theme : "auto";
  } catch {
    return "auto";
  }
}
