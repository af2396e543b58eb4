// Sets the theme before the first paint, so that a chosen one does not flash. The address wins over what is remembered.
(() => {
  const asked = new URLSearchParams(location.search).get("theme");
  let theme = asked;
  try {
    theme ??= localStorage.getItem("toolvitals-theme");
  } catch {
    // A browser that keeps nothing follows the system.
  }
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
})();
