// The live page of a run: asks the server again and again, and shows what it says.

const RETRY_MILLISECONDS = 1000;
const ATTEMPTS = 5;

{
  const data = readPage();
  const part = (name) => document.getElementById(`live-${name}`);
  const name = Array.from(crypto.getRandomValues(new Uint8Array(8)), (byte) => byte.toString(16)).join("");
  const known = { run: null, version: "", epoch: "", times: noTimes(data.shape.carriers.length), following: true };
  const count = () => known.times.start_ns.values.length;

  const follow = (on) => {
    known.following = on;
    part("follow").setAttribute("aria-pressed", String(on));
  };
  const stage = fabricStage(data.heat.length, {
    run: () => known,
    shape: () => data.shape,
    moved: (interval) => follow(interval >= count() - 1),
  });
  part("follow").addEventListener("click", () => {
    if (known.following) follow(false);
    else stage.go(count() - 1);
  });

  const say = (words, kind) => {
    if (part("state").textContent !== words) part("state").textContent = words;
    document.body.dataset.state = kind;
  };
  const take = (told) => {
    // Another run at the same address: its page has another fabric.
    if (known.run !== null && told.run !== known.run) return location.reload();
    known.run = told.run;
    known.version = told.version;
    if (told.epoch !== known.epoch || told.times.start_ns.values.length) {
      const [at, joined] = [known.times.start_ns.values[stage.view.interval], told.epoch !== known.epoch];
      known.times = followedBy(known.times, told.from, told.times);
      known.epoch = told.epoch;
      // Where the intervals are others now, the reader stays at the same time.
      stage.grow(known.following ? count() - 1 : joined && at !== undefined ? intervalOf(known, at) : stage.view.interval);
    }
    showNumbers(told);
    const { words } = stateWords(told);
    say(words, told.state);
    const over = told.state === "ended" || told.state === "stopped";
    document.title = `${over ? "ended" : `${Math.floor(100 * (told.fraction ?? 0))} %`}: ${data.name}`;
    return undefined;
  };

  /** Offers the report, which stays in this page when the server is gone. */
  const offerReport = async ({ folder, report }) => {
    part("folder").textContent = folder;
    part("end").hidden = false;
    if (!report) return;
    const answer = await fetch(`report.html?page=${name}`).catch(() => null);
    if (!answer?.ok) return;
    const link = part("report");
    link.href = URL.createObjectURL(new Blob([await answer.text()], { type: "text/html" }));
    link.hidden = false;
  };

  const ask = async () => {
    const from = Math.max(0, count() - 1);
    const answer = await fetch(`feed.json?${new URLSearchParams({ page: name, version: known.version, epoch: known.epoch, from })}`);
    if (!answer.ok) throw new Error(`status ${answer.status}`);
    return readPacked(await answer.text());
  };
  const listen = async () => {
    for (let failed = 0; failed < ATTEMPTS;) {
      const told = await ask().catch(() => null);
      if (told === null) {
        failed += 1;
        say("The command does not answer. Trying again.", "silent");
        await new Promise((done) => setTimeout(done, RETRY_MILLISECONDS));
        continue;
      }
      failed = 0;
      take(told);
      if (told.state === "ended") return offerReport(told.end);
      if (told.state === "stopped") return undefined;
    }
    document.title = `no answer: ${data.name}`;
    return say("The command does not answer: it was ended, and its terminal says why. The page shows what had come until then; reload it once the command runs again.", "silent");
  };

  document.documentElement.classList.add("live");
  document.getElementById("fabric-choice").replaceChildren(stage.measures());
  stage.show();
  startTheme(() => {
    redrawCharts();
    stage.paint();
  });
  follow(true);
  listen();
}
