// State of a run that goes on, in words and numbers.

/** Seconds as people read them: `4 s`, `12 min`, `3 h 5 min`. */
function inWords(seconds) {
  if (seconds < 99.5) return `${Math.round(seconds)} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 100) return `${minutes} min`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** What the run is doing; `ends` is whether it will say more. */
function stateWords(told) {
  if (told.state === "preparing") return { words: "The run is being prepared.", ends: false };
  if (told.state === "running") return { words: "The run goes on.", ends: false };
  if (told.state === "drawing") return { words: "The run has ended; its report is being drawn.", ends: false };
  if (told.state === "stopped") return { words: `The run was stopped and has no results: ${told.end.reason}.`, ends: true };
  const unfinished = told.flows_total - told.flows_finished;
  const flows = unfinished ? `${count(unfinished)} of ${count(told.flows_total)} flows did not finish` : `all ${count(told.flows_total)} flows finished`;
  return { words: `The run has ended at ${time(told.simulated_ns)} of simulated time; ${flows}.`, ends: true };
}

/** Writes the numbers of the run. */
function showNumbers(told) {
  const write = (name, text, remark = "") => {
    document.getElementById(`live-${name}`).textContent = text;
    document.getElementById(`live-${name}-remark`).textContent = remark;
  };
  const part = told.fraction ?? 0;
  document.getElementById("live-progress").value = part;
  if (told.flows_total === undefined) return;
  write("time", time(told.simulated_ns), told.end_ns ? `of ${time(told.end_ns)} at most` : "");
  write("flows", count(told.flows_finished), `done of ${count(told.flows_begun)} begun, ${count(told.flows_total)} in all`);
  write("speed", shown(told.hops_per_s, (hops) => `${significant(hops / 1e6)} million`), `${count(told.packet_hops)} so far`);
  const over = told.state === "ended" || told.state === "stopped";
  write("left", over ? "0 s" : shown(told.left_s, inWords), `${inWords(told.elapsed_s)} ${over ? "in all" : "passed"}`);
}
