// Before anything is drawn: the colours that were chosen the last time. Not a module, so that it runs first.

(() => {
  try {
    const kept = localStorage.getItem("sourcebook.theme");
    if (kept) document.documentElement.dataset.theme = kept;
  } catch {
    /* the system's, then */
  }
})();
