// The charts that one explores: one choice for all of them.

/** Shows the section, its controls and its charts. */
function startExplore(data) {
  const section = document.getElementById("explore");
  const choice = firstChoice(data);
  const controls = document.getElementById("choice");
  const redraw = () => {
    const words = { distribution: {}, axis: { axis: data.swept }, size: { classes: false, seeds: false } };
    for (const line of section.querySelectorAll("[data-words]")) {
      line.textContent = choiceInWords(data, choice, words[line.dataset.words]);
    }
    drawDistribution(document.getElementById("distribution"), data, choice);
    document.getElementById("percentiles").replaceChildren(percentileTable(data, choice));
    if (data.swept !== null) drawAgainstAxis(document.getElementById("against-axis"), data, choice);
    if (data.sizes.sizes.values.length) drawSizes();
  };
  const quantile = { number: 0 };
  const names = data.sizes.names.map((name, index) => [index, name]);
  const drawSizes = () => drawAgainstSize(document.getElementById("against-size"), data, choice, quantile.number);
  const change = (value) => {
    quantile.number = Number(value);
    drawSizes();
  };
  section.hidden = false;
  controls.replaceWith(choiceControls(data, choice, redraw));
  document.getElementById("size-quantile").replaceWith(chooser("Quantile", "size-quantile", names, 0, change));
  redraw();
}
