// The fabric over time of the runs of a report: a run, and the paths of a chosen flow.

/** Shows the section, its controls and its drawing. */
function startFabric(data) {
  document.getElementById("fabric-view").hidden = false;
  const part = (name) => document.getElementById(`fabric-${name}`);
  const chosen = { run: 0, flow: null };
  const run = () => data.fabric.runs[chosen.run];
  const shape = () => data.fabric.shapes[run().shape];
  const decorate = (drawing) => {
    const flow = chosen.flow === null ? null : flowAt(run(), chosen.flow);
    const paths = flow === null ? { ports: new Set(), dead: new Set(), taken: new Set(), words: "" } : pathsOfFlow(shape(), flow);
    drawPaths(drawing, shape(), paths);
    markHosts(drawing, shape(), flow === null ? [] : [flow.src, flow.dst]);
    part("flow").textContent = paths.words;
  };
  const stage = fabricStage(data.fabric.heat.length, { run, shape, decorate });
  const showRun = () => {
    chosen.flow = null;
    part("flows").replaceChildren(flowTable(run(), shape(), (row) => {
      chosen.flow = row;
      if (row !== null) stage.go(intervalOf(run(), run().flows.start_ns[row]));
      else stage.paint();
    }));
    stage.show();
  };
  const runs = data.fabric.runs.map(({ label }, index) => [index, label || data.name]);
  const setRun = (value) => {
    chosen.run = Number(value);
    showRun();
  };
  part("choice").replaceChildren(...(runs.length > 1 ? [chooser("Run", "run", runs, 0, setRun)] : []), stage.measures());
  showRun();
  return stage.paint;
}
