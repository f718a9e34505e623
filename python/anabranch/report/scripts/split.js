// Page of `anabranch split`: sortable tables, and the theme.

startTheme(() => {});
makeAllSortable(document);
