// Page of `anabranch report`: starts its parts. Without it the page shows the same as figures and tables.

{
  const data = readPage();
  document.documentElement.classList.add("live");
  startTheme(redrawCharts);
  makeAllSortable(document);
  if (data.curves) startExplore(data);
}
