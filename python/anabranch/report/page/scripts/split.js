// Page of `anabranch split`: charts that one explores, sortable tables, and the theme.

{
  const data = readPage();
  document.documentElement.classList.add("live");
  startTheme(redrawCharts);
  makeAllSortable(document);
  startSplitErrors(data);
}
