// Page of `anabranch report`: starts its parts. Without it the page shows the same as figures and tables.

{
  const data = readPage();
  document.documentElement.classList.add("live");
  const repaints = [redrawCharts];
  startTheme(() => repaints.forEach((repaint) => repaint()));
  makeAllSortable(document);
  startExplore(data);
  repaints.push(startFabric(data));
  startTraces(data);
}
