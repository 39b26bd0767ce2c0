// The zoomable sequence plot: one connection at a time, from the lists that analysis/capture/sequence.py makes.
// Texts of the capture reach the page through textContent and fillText only. No network, nothing stored.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("sequence-data").textContent);
  const byId = (id) => document.getElementById(id);
  const canvas = byId("sequence-canvas"), pen = canvas.getContext("2d"), status = byId("sequence-status");
  const picker = byId("sequence-picker"), way = byId("sequence-way"), list = byId("sequence-marks");
  const C = { sent: "#0072b2", again: "#d55e00", part: "#b37400", late: "#b0568d", ack: "#009e73",
    window: "#3a93c9", sack: "#000000", ink: "#1f2933", quiet: "#5f6b7a", rule: "#e3e8ee", slow: "rgba(240,228,66,.28)" };
  const CAUSES = [["F", "fast retransmission"], ["f", "repair in the same recovery"], ["T", "retransmission after a timeout"],
    ["t", "sent again after the timeout"], ["L", "tail loss probe"], ["R", "retransmission, cause not visible"]];
  const KINDS = { fast: 0, recovery: 1, timeout: 2, after_timeout: 3, probe: 4, unknown: 5 };
  const WORDS = { late: "late: none of it seen before although higher octets were", part: "partly sent before",
    duplicate_acks: "duplicate acknowledgements", zero_window: "window closed", window_probe: "probe of a closed window",
    keep_alive: "keep-alive", reset: "reset", delayed_ack: "delayed acknowledgement" };
  const LEFT = 76, RIGHT = 58, TOP = 20, BOTTOM = 34, STRIP = 92, FONT = '11px system-ui, "DejaVu Sans", Arial, sans-serif';
  let now = null, view = null, drag = null, marked = -1, panels = [], labels = [];

  // One connection, its lists as they are drawn.
  function open(raw) {
    const n = raw.t.length, time = new Float64Array(n);
    for (let i = 0, at = 0; i < n; i++) time[i] = (at += raw.t[i]);
    const place = (pairs) => new Map((pairs || []).map((row) => [row[0], row.slice(1)]));
    const cause = place(raw.c), lost = new Map();
    for (const [i, kind, before] of raw.c) if (before >= 0) lost.set(before, [i, kind]);
    return { raw, n, time, cause, lost, mac: place(raw.x), rtt: place(raw.r), out: place(raw.i), sack: raw.k,
      delayed: new Set(raw.d), end: (i) => raw.s[i] + raw.l[i] + ((raw.f[i] >> 1) & 1) + (raw.f[i] & 1) };
  }
  function whole() {
    const last = now.n ? now.time[now.n - 1] : 1, pad = Math.max(last * 0.02, 1e5);
    return { t0: -pad, t1: last + pad, range: {} };
  }
  // Sequence numbers in sight, fitted to what is drawn between the two times unless a box was drawn.
  function range(up) {
    if (view.range[up]) return view.range[up];
    let low = Infinity, high = -Infinity, ack = -1, edge = 0, last = null;
    const see = (value) => { low = Math.min(low, value); high = Math.max(high, value); };
    for (let i = 0; i < now.n; i++) {
      const t = now.time[i], r = now.raw;
      if (t > view.t1) break;
      if (r.u[i] === up) { if (t >= view.t0) { see(r.s[i]); see(now.end(i)); } else last = now.end(i); }
      else if (r.a[i] >= 0) { ack = Math.max(ack, r.a[i]); edge = r.a[i] + r.w[i]; if (t >= view.t0) see(r.a[i]); }
    }
    if (ack >= 0 && low === Infinity) see(ack);
    if (last !== null && low === Infinity) see(last);
    if (low === Infinity) { low = 0; high = 1; }
    if (edge > high && edge < high + 0.35 * (high - low)) high = edge; // the window's edge where it matters
    const pad = Math.max((high - low) * 0.06, 2);
    return [low - pad, high + pad];
  }

  function ticks(low, high, room, least) {
    const raw = Math.max((high - low) / Math.max(2, room), least || 0), step = 10 ** Math.floor(Math.log10(raw));
    const nice = [1, 2, 5, 10].map((k) => k * step).find((k) => k >= raw), found = [];
    for (let v = Math.ceil(low / nice) * nice; v <= high; v += nice) found.push(v);
    return [found, nice];
  }
  function seconds(ns, step) { return (ns / 1e9).toFixed(Math.max(0, Math.min(9, -Math.floor(Math.log10(step / 1e9))))); }
  function span(ns) { return ns >= 1e9 ? (ns / 1e9).toFixed(2) + " s" : ns >= 1e6 ? (ns / 1e6).toFixed(ns >= 1e7 ? 0 : 1) + " ms" : (ns / 1e3).toFixed(0) + " µs"; }
  function octets(v) { return (Math.round(v) || 0).toLocaleString("en"); }
  function line(x0, y0, x1, y1) { pen.beginPath(); pen.moveTo(x0, y0); pen.lineTo(x1, y1); pen.stroke(); }
  function say(text, x, y, colour, align) { pen.fillStyle = colour; pen.textAlign = align || "left"; pen.fillText(text, x, y); }

  function draw() {
    const ratio = window.devicePixelRatio || 1, width = canvas.clientWidth, height = canvas.clientHeight;
    canvas.width = Math.round(width * ratio); canvas.height = Math.round(height * ratio);
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.fillStyle = "#fff"; pen.fillRect(0, 0, width, height);
    pen.font = FONT; pen.lineCap = "butt"; pen.setLineDash([]);
    const ways = way.value === "both" ? [0, 1] : [way.value === "up" ? 1 : 0], both = ways.length > 1;
    const below = both ? 0 : STRIP, each = (height - BOTTOM - below) / ways.length;
    panels = ways.map((up, k) => ({ up, x0: LEFT, x1: width - RIGHT, y0: TOP + k * each, y1: (k + 1) * each - (k + 1 < ways.length ? 14 : 8) }));
    const X = (t) => LEFT + ((t - view.t0) / (view.t1 - view.t0)) * (width - LEFT - RIGHT);
    const [times, step] = ticks(view.t0, view.t1, (width - LEFT - RIGHT) / 90);
    pen.lineWidth = 1;
    for (const t of times) { pen.strokeStyle = C.rule; line(X(t), TOP, X(t), height - BOTTOM); say(seconds(t, step), X(t), height - BOTTOM + 15, C.quiet, "center"); }
    say("time since its first packet (s)", (LEFT + width - RIGHT) / 2, height - 4, C.ink, "center");
    for (const p of panels) panel(p, X);
    if (!both) strip(panels[0].up, X, height - BOTTOM - below + 14, height - BOTTOM, width);
    if (drag && drag.box) { pen.strokeStyle = C.ink; pen.setLineDash([4, 3]); pen.strokeRect(drag.x, drag.y, drag.x2 - drag.x, drag.y2 - drag.y); pen.setLineDash([]); }
  }

  function panel(p, X) {
    const r = now.raw, [low, high] = range(p.up), Y = (s) => p.y1 - ((s - low) / (high - low)) * (p.y1 - p.y0);
    p.low = low; p.high = high; p.X = X; p.Y = Y; pen.lineWidth = 1;
    for (const s of ticks(low, high, (p.y1 - p.y0) / 40, 1)[0]) { pen.strokeStyle = C.rule; line(p.x0, Y(s), p.x1, Y(s)); say(octets(s), p.x0 - 6, Y(s) + 4, C.quiet, "right"); }
    say("sequence number (B), " + (p.up ? "client to server" : "server to client"), p.x0, p.y0 - 7, C.ink);
    pen.save(); pen.beginPath(); pen.rect(p.x0, p.y0, p.x1 - p.x0, p.y1 - p.y0); pen.clip();
    for (const [up, from, to, rounds] of r.g) if (up === p.up) {
      pen.fillStyle = C.slow; pen.fillRect(X(from), p.y0, X(to) - X(from), p.y1 - p.y0);
      if (X(to) - X(from) > 90) say("slow start, " + rounds + " rounds", X(from) + 4, p.y0 + 12, C.quiet);
    }
    stairs(p, X, Y);
    const seen = [];
    let rtts = 0;
    for (let i = 0; i < now.n; i++) if (now.time[i] >= view.t0 && now.time[i] <= view.t1) { seen.push(i); if (now.rtt.has(i)) rtts++; }
    const roomy = seen.length < 400;
    for (const [i, from, to] of now.sack) if (r.u[i] !== p.up && now.time[i] >= view.t0 && now.time[i] <= view.t1) {
      pen.strokeStyle = C.sack; pen.lineWidth = 1.2; line(X(now.time[i]), Y(from), X(now.time[i]), Y(to));
      pen.lineWidth = 1; line(X(now.time[i]) - 2, Y(to), X(now.time[i]) + 2, Y(to));
    }
    for (const i of seen) (r.u[i] === p.up ? segment : reply)(i, p, X, Y, roomy, rtts <= 40, seen.length < 120);
    // Letters last, on a halo, so that nothing hides them.
    for (const [text, x, y, colour, align] of labels.splice(0)) {
      pen.font = "bold 12px system-ui, sans-serif"; pen.textAlign = align; pen.lineWidth = 3; pen.strokeStyle = "#fff"; pen.lineJoin = "round";
      const top = Math.max(y, p.y0 + 11); pen.strokeText(text, x, top); say(text, x, top, colour, align);
    }
    pen.font = FONT;
    if (marked >= 0 && now.time[marked] !== undefined) {
      const y = r.u[marked] === p.up ? Y(r.s[marked]) : Y(Math.max(r.a[marked], 0));
      pen.strokeStyle = C.ink; pen.lineWidth = 1.5; pen.beginPath(); pen.arc(X(now.time[marked]), y, 11, 0, 7); pen.stroke();
    }
    pen.restore();
  }
  // Acknowledged so far, and the edge of the window above it.
  function stairs(p, X, Y) {
    const r = now.raw;
    for (const [edge, colour, dash] of [[1, C.window, [5, 3]], [0, C.ack, []]]) {
      pen.strokeStyle = colour; pen.setLineDash(dash); pen.lineWidth = edge ? 1.2 : 1.4; pen.beginPath();
      let top = null;
      for (let i = 0; i < now.n; i++) {
        if (r.u[i] === p.up || r.a[i] < 0) continue;
        const value = edge ? r.a[i] + r.w[i] : Math.max(r.a[i], top === null ? 0 : top), x = X(now.time[i]);
        if (top === null) pen.moveTo(x, Y(value)); else { pen.lineTo(x, Y(top)); pen.lineTo(x, Y(value)); }
        top = value;
      }
      if (top !== null) pen.lineTo(X(now.time[now.n - 1]), Y(top));
      pen.stroke();
    }
    pen.setLineDash([]);
  }
  function segment(i, p, X, Y, roomy, _, close) {
    const r = now.raw, x = X(now.time[i]), y0 = Y(r.s[i]), y1 = Y(now.end(i)), cause = now.cause.get(i), novelty = r.n[i];
    const colour = cause ? C.again : novelty === 2 ? C.part : novelty === 3 ? C.late : C.sent;
    pen.strokeStyle = colour; pen.lineWidth = cause || novelty > 1 ? 2.6 : 1.6;
    if (now.end(i) > r.s[i]) {
      line(x, y0, x, Math.min(y1, y0 - 1));
      if (roomy) { pen.lineWidth = 1; line(x - 3, y0, x + 3, y0); line(x - 3, y1, x + 3, y1); }
    }
    const words = [];
    if (r.f[i] & 2) words.push("SYN"); if (r.f[i] & 1) words.push("FIN"); if (r.f[i] & 4) words.push("RST");
    if (r.b[i] & 4) words.push("W"); if (r.b[i] & 8) words.push("K");
    if (cause) {
      const before = cause[1];
      if (before >= 0) {
        pen.strokeStyle = C.again; pen.lineWidth = 1; pen.setLineDash([2, 3]); line(X(now.time[before]), y0, x, y0); pen.setLineDash([]);
        const xb = X(now.time[before]); pen.lineWidth = 1.6; line(xb - 4, y0 - 4, xb + 4, y0 + 4); line(xb - 4, y0 + 4, xb + 4, y0 - 4);
      }
      labels.push([[CAUSES[cause[0]][0], ...words].join(" "), x + 5, y1 - 3, C.again, "left"]);
    } else if (novelty === 2 || novelty === 3) labels.push([novelty === 2 ? "p" : "O", x + 5, y1 - 3, colour, "left"]);
    if (words.length && !cause) { labels.push([words.join(" "), x, y1 - 6, r.f[i] & 4 ? C.again : C.ink, "center"]); if (r.f[i] & 4) { pen.strokeStyle = C.again; pen.lineWidth = 2; line(x - 4, y1 - 4, x + 4, y1 + 4); line(x - 4, y1 + 4, x + 4, y1 - 4); } }
    if (close && now.mac.has(i)) say("m" + now.mac.get(i)[0], x, y0 + 12, C.quiet, "center");
  }
  function reply(i, p, X, Y, roomy, few) {
    const r = now.raw, x = X(now.time[i]);
    if (r.a[i] < 0) return;
    const y = Y(r.a[i]);
    pen.strokeStyle = C.ack; pen.lineWidth = 1;
    if (r.b[i] & 1) { pen.lineWidth = 1.4; line(x, y, x, y + 7); } else if (roomy) line(x, y - 3, x, y + 3);
    if (few && now.rtt.has(i)) { const t = now.rtt.get(i)[0]; pen.setLineDash([1, 3]); line(X(now.time[i] - t), y, x, y); pen.setLineDash([]); if (X(now.time[i]) - X(now.time[i] - t) > 60) say("RTT " + span(t), (X(now.time[i] - t) + x) / 2, y - 3, C.ack, "center"); }
    if (now.delayed.has(i)) labels.push(["d", x + 3, y + 13, C.ack, "left"]);
    if (r.b[i] & 2) { pen.strokeStyle = C.again; pen.lineWidth = 1.6; pen.strokeRect(x - 4, y - 4, 8, 8); labels.push(["Z", x + 7, y + 4, C.again, "left"]); }
  }
  // Below: octets outstanding as steps, RTT samples as dots on the right-hand scale.
  function strip(up, X, y0, y1, width) {
    const r = now.raw;
    let most = 1, slow = 1;
    for (let i = 0; i < now.n; i++) if (now.time[i] >= view.t0 && now.time[i] <= view.t1) {
      if (r.u[i] === up && now.out.has(i)) most = Math.max(most, now.out.get(i)[0]);
      if (r.u[i] !== up && now.rtt.has(i)) slow = Math.max(slow, now.rtt.get(i)[0]);
    }
    pen.strokeStyle = C.rule; pen.lineWidth = 1; line(LEFT, y1, width - RIGHT, y1);
    say("outstanding (B)", LEFT, y0 - 3, C.sent); say("RTT", width - RIGHT, y0 - 3, C.ack, "right");
    say(octets(most), LEFT - 6, y0 + 8, C.quiet, "right"); say("0", LEFT - 6, y1, C.quiet, "right");
    say(slow > 1 ? span(slow) : "", width - RIGHT + 6, y0 + 8, C.quiet); say("0", width - RIGHT + 6, y1, C.quiet);
    pen.save(); pen.beginPath(); pen.rect(LEFT, y0 - 1, width - LEFT - RIGHT, y1 - y0 + 2); pen.clip();
    pen.strokeStyle = C.sent; pen.lineWidth = 1.2; pen.beginPath();
    let last = null;
    for (const [i, value] of r.i) {
      if (r.u[i] !== up) continue;
      const x = X(now.time[i]), y = y1 - (value / most) * (y1 - y0);
      if (last === null) pen.moveTo(x, y); else { pen.lineTo(x, last); pen.lineTo(x, y); }
      last = y;
    }
    pen.stroke(); pen.fillStyle = C.ack;
    for (const [i, value] of r.r) if (r.u[i] !== up) { pen.beginPath(); pen.arc(X(now.time[i]), y1 - (value / slow) * (y1 - y0), 2, 0, 7); pen.fill(); }
    pen.restore();
  }

  function describe(i) {
    const r = now.raw, words = ["frame " + r.q[i], (now.time[i] / 1e9).toFixed(6) + " s", r.u[i] ? "client to server" : "server to client"];
    const flags = ["FIN", "SYN", "RST", "PSH", "ACK", "URG", "ECE", "CWR"].filter((_, bit) => r.f[i] & (1 << bit));
    words.push(flags.join(" "), "seq " + octets(r.s[i]) + (r.l[i] ? " … " + octets(r.s[i] + r.l[i]) + " (" + octets(r.l[i]) + " B)" : ""));
    if (r.a[i] >= 0) words.push("ack " + octets(r.a[i]), "window " + octets(r.w[i]));
    if (now.rtt.has(i)) words.push("RTT " + span(now.rtt.get(i)[0]));
    if (now.out.has(i)) words.push("outstanding " + octets(now.out.get(i)[0]));
    if (now.cause.has(i)) words.push(CAUSES[now.cause.get(i)[0]][1] + (r.b[i] & 16 ? ", needless: acknowledged before" : ""));
    else if (r.n[i] === 2) words.push(WORDS.part); else if (r.n[i] === 3) words.push(WORDS.late);
    if (now.lost.has(i)) words.push("sent again later");
    if (r.b[i] & 1) words.push("duplicate acknowledgement");
    if (r.b[i] & 2) words.push(WORDS.zero_window);
    if (r.b[i] & 4) words.push(WORDS.window_probe);
    if (r.b[i] & 8) words.push(WORDS.keep_alive);
    if (now.delayed.has(i)) words.push(WORDS.delayed_ack);
    if (now.mac.has(i)) words.push(now.mac.get(i)[0] + " MAC retransmissions");
    return words.filter(Boolean).join(" · ");
  }
  function nearest(x, y) {
    const p = panels.find((one) => y >= one.y0 && y <= one.y1 && x >= one.x0 && x <= one.x1);
    if (!p || !p.X) return -1;
    let best = -1, least = 15;
    for (let i = 0; i < now.n; i++) {
      const dx = Math.abs(p.X(now.time[i]) - x);
      if (dx > least) continue;
      const r = now.raw, own = r.u[i] === p.up, a = own ? p.Y(r.s[i]) : p.Y(r.a[i]), b = own ? p.Y(now.end(i)) : a;
      const dy = y > a ? y - a : y < b ? b - y : 0, far = Math.hypot(dx, dy);
      if (far < least) { least = far; best = i; }
    }
    return best;
  }

  function zoom(factor, at) {
    const middle = at === undefined ? (view.t0 + view.t1) / 2 : at, width = Math.max(1e3, (view.t1 - view.t0) * factor);
    const full = whole(), share = (middle - view.t0) / (view.t1 - view.t0), limited = Math.min(width, 2 * (full.t1 - full.t0));
    move(middle - share * limited, limited); view.range = {}; draw();
  }
  // Puts the view there, but never where there is nothing.
  function move(t0, width) {
    const full = whole();
    view.t0 = Math.max(full.t0 - width * 0.5, Math.min(t0, full.t1 - width * 0.5)); view.t1 = view.t0 + width;
  }
  function pan(share) { const width = view.t1 - view.t0; move(view.t0 + width * share, width); view.range = {}; draw(); }
  function lift(share) { for (const p of panels) { const by = (p.high - p.low) * share; view.range[p.up] = [p.low + by, p.high + by]; } draw(); }
  function reset() { view = whole(); marked = -1; draw(); }
  function show(k) {
    const mark = now.raw.m[k];
    if (!mark) return;
    const [i, kind, value] = mark, half = Math.max(2e7, KINDS[kind] === undefined ? 0 : value * 1.25, (now.time[now.n - 1] || 0) * 0.01);
    const up = now.raw.u[i] ^ (kind === "duplicate_acks" || kind === "zero_window" || kind === "delayed_ack" ? 1 : 0);
    if (way.value !== "both") way.value = up ? "up" : "down";
    marked = i; current = k; view.t0 = now.time[i] - half; view.t1 = now.time[i] + half * 0.6; view.range = {};
    status.textContent = describe(i); draw();
    [...list.querySelectorAll("button")].forEach((button, index) => button.toggleAttribute("aria-current", index === k));
  }
  let current = -1;
  function listed() {
    list.replaceChildren();
    current = -1;
    const most = 300;
    now.raw.m.slice(0, most).forEach(([i, kind, value], k) => {
      const item = document.createElement("li"), button = document.createElement("button");
      const cause = KINDS[kind], what = cause === undefined ? WORDS[kind] || kind : CAUSES[cause][1];
      const more = cause !== undefined ? (value ? ", " + span(value) + " after it was sent before" : "") : kind === "duplicate_acks" ? ": " + value : kind === "delayed_ack" ? ", " + span(value) : "";
      button.type = "button";
      button.textContent = (now.time[i] / 1e9).toFixed(4) + " s  " + (cause === undefined ? "" : CAUSES[cause][0] + "  ") + what + more;
      button.addEventListener("click", () => { show(k); canvas.focus({ preventScroll: true }); });
      item.append(button); list.append(item);
    });
    byId("sequence-count").textContent = now.raw.m.length === 0 ? "Nothing to list: no loss, no stall." : now.raw.m.length + " marks" + (now.raw.m.length > most ? ", the first " + most + " listed" : "");
  }
  function pick() {
    now = open(data[picker.value]); const down = now.raw.l.reduce((sum, l, i) => sum + (now.raw.u[i] ? -l : l), 0);
    if (way.value !== "both") way.value = down >= 0 ? "down" : "up";
    byId("sequence-about").textContent = now.raw.about;
    byId("sequence-command").textContent = now.raw.command;
    status.textContent = now.n + " segments shown."; listed(); reset();
  }

  picker.addEventListener("change", pick);
  way.addEventListener("change", () => { view.range = {}; draw(); });
  for (const [id, act] of [["in", () => zoom(0.5)], ["out", () => zoom(2)], ["left", () => pan(-0.25)], ["right", () => pan(0.25)], ["all", reset], ["next", () => show(current + 1)]]) byId("sequence-" + id).addEventListener("click", act);
  const point = (event) => { const box = canvas.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
  const timeAt = (x) => view.t0 + ((x - LEFT) / (canvas.clientWidth - LEFT - RIGHT)) * (view.t1 - view.t0);
  canvas.addEventListener("wheel", (event) => {
    if (document.activeElement !== canvas && !event.ctrlKey) return; // let the page scroll until the plot is chosen
    event.preventDefault();
    const factor = Math.exp(Math.sign(event.deltaY) * 0.2);
    if (event.shiftKey) { for (const p of panels) { const middle = (p.low + p.high) / 2, half = ((p.high - p.low) / 2) * factor; view.range[p.up] = [middle - half, middle + half]; } draw(); }
    else zoom(factor, timeAt(point(event)[0]));
  }, { passive: false });
  canvas.addEventListener("pointerdown", (event) => {
    const [x, y] = point(event);
    canvas.setPointerCapture(event.pointerId);
    drag = { x, y, x2: x, y2: y, box: !event.shiftKey && event.pointerType === "mouse", t0: view.t0, t1: view.t1 };
  });
  canvas.addEventListener("pointermove", (event) => {
    const [x, y] = point(event);
    if (!drag) { const i = nearest(x, y); if (i >= 0) status.textContent = describe(i); return; }
    drag.x2 = x; drag.y2 = y;
    if (!drag.box) { const by = ((drag.x - x) / (canvas.clientWidth - LEFT - RIGHT)) * (drag.t1 - drag.t0); move(drag.t0 + by, drag.t1 - drag.t0); view.range = {}; }
    draw();
  });
  canvas.addEventListener("pointerup", () => {
    const was = drag; drag = null;
    if (was && was.box && Math.abs(was.x2 - was.x) > 6 && Math.abs(was.y2 - was.y) > 6) {
      const p = panels.find((one) => was.y >= one.y0 - 10 && was.y <= one.y1 + 10) || panels[0];
      const back = (y) => p.low + ((p.y1 - y) / (p.y1 - p.y0)) * (p.high - p.low), [a, b] = [timeAt(Math.min(was.x, was.x2)), timeAt(Math.max(was.x, was.x2))];
      view.range[p.up] = [back(Math.max(was.y, was.y2)), back(Math.min(was.y, was.y2))]; view.t0 = a; view.t1 = Math.max(b, a + 1e3);
    }
    draw();
  });
  canvas.addEventListener("pointercancel", () => { drag = null; draw(); });
  canvas.addEventListener("dblclick", reset);
  canvas.addEventListener("keydown", (event) => {
    const keys = { ArrowLeft: () => pan(-0.1), ArrowRight: () => pan(0.1), ArrowUp: () => lift(0.1), ArrowDown: () => lift(-0.1), "+": () => zoom(0.7), "=": () => zoom(0.7),
      "-": () => zoom(1 / 0.7), 0: reset, Home: reset, n: () => show(current + 1), p: () => show(Math.max(0, current - 1)) };
    const act = keys[event.key];
    if (act && !event.ctrlKey && !event.metaKey && !event.altKey) { event.preventDefault(); act(); }
  });
  new ResizeObserver(() => { if (view) draw(); }).observe(canvas);
  byId("sequence-viewer").hidden = false;
  pick();
})();
