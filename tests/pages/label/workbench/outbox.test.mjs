import assert from "node:assert/strict";
import { test } from "node:test";

import { Outbox } from "../../../../pages/label/workbench/outbox.js";

class Storage {
  constructor() {
    this.held = new Map();
  }
  getItem(key) {
    return this.held.get(key) ?? null;
  }
  setItem(key, value) {
    if (this.full) throw new Error("quota");
    this.held.set(key, value);
  }
}

/** Time that passes when told to. */
class Clock {
  constructor() {
    [this.now, this.timers, this.next] = [0, new Map(), 1];
  }
  setTimeout = (run, wait) => {
    this.timers.set(this.next, { at: this.now + wait, run });
    return this.next++;
  };
  clearTimeout = (id) => this.timers.delete(id);
  async pass(milliseconds) {
    const end = this.now + milliseconds;
    for (;;) {
      await settled();
      const due = [...this.timers].filter(([, timer]) => timer.at <= end).sort((a, b) => a[1].at - b[1].at)[0];
      if (!due) break;
      this.now = Math.max(this.now, due[1].at);
      this.timers.delete(due[0]);
      due[1].run();
    }
    this.now = end;
    await settled();
  }
}

const settled = async () => {
  for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
};

/** A server that keeps results by number, as the contract has it, and can lose its replies. */
class Server {
  constructor() {
    Object.assign(this, {
      rows: [],
      clients: new Map(),
      down: false,
      drop: () => false,
      posts: 0,
      most: 0,
      inFlight: 0,
    });
  }
  post = async (body) => {
    this.posts += 1;
    this.inFlight += 1;
    this.most = Math.max(this.most, this.inFlight);
    await Promise.resolve();
    this.inFlight -= 1;
    if (this.down) throw Object.assign(new Error("offline"), { code: "offline" });
    if (this.error) throw this.error;
    const known = this.clients.get(body.client);
    if (body.after > Math.max(0, ...(known?.keys() ?? [])) && (known || !body.first))
      throw Object.assign(new Error("gap"), { code: "sequence" });
    const results = known ?? new Map();
    this.clients.set(body.client, results);
    for (const action of body.actions) {
      if (results.has(action.seq)) continue;
      this.rows.push(action);
      results.set(action.seq, {
        seq: action.seq,
        status: "accepted",
        version: `v${this.rows.length}`,
        entry: `e${this.rows.length}`,
      });
    }
    if (this.drop(this.posts)) throw Object.assign(new Error("lost"), { code: "offline" });
    return { results: body.actions.map((action) => results.get(action.seq)) };
  };
}

function made(parts = {}) {
  const clock = parts.clock ?? new Clock();
  const server = parts.server ?? new Server();
  const storage = parts.storage ?? new Storage();
  const answered = [];
  let ids = 0;
  const outbox = new Outbox({
    key: "k",
    annotator: "a-1",
    storage,
    post: server.post,
    onResult: (action, result) => answered.push([action.seq, result.status]),
    clock,
    newId: () => parts.id ?? `c-${(ids += 1)}`,
  });
  return { clock, server, storage, answered, outbox };
}

const label = (seq, more = {}) => ({ seq, type: "label", task: "t", target: `g-${seq}`, base: "0", value: 1, ...more });
const draft = (seq, target, value) => ({ seq, type: "draft", task: "t", target, base: "0", value });

test("actions arrive in order, with one request in flight", async () => {
  const { clock, server, outbox, answered } = made();
  for (let seq = 1; seq <= 200; seq += 1) {
    outbox.add([label(seq)]);
    if (seq % 7 === 0) await clock.pass(3);
  }
  await clock.pass(1000);
  assert.deepEqual(
    server.rows.map((row) => row.seq),
    Array.from({ length: 200 }, (_, place) => place + 1),
  );
  assert.equal(answered.length, 200);
  assert.equal(server.most, 1);
  assert.equal(outbox.waiting, 0);
});

test("a lost acknowledgement is asked for again and nothing is stored twice", async () => {
  const { clock, server, outbox, answered } = made();
  server.drop = (post) => post % 3 === 0;
  for (let seq = 1; seq <= 60; seq += 1) {
    outbox.add([label(seq)]);
    await clock.pass(20);
  }
  await clock.pass(60000);
  assert.deepEqual(
    server.rows.map((row) => row.seq),
    Array.from({ length: 60 }, (_, place) => place + 1),
  );
  assert.deepEqual(
    answered.map(([seq]) => seq),
    server.rows.map((row) => row.seq),
  );
});

test("without a connection everything is stored in the browser and sent afterwards", async () => {
  const { clock, server, outbox, storage } = made();
  server.down = true;
  for (let seq = 1; seq <= 80; seq += 1) outbox.add([label(seq)]);
  await clock.pass(10000);
  assert.equal(outbox.waiting, 80);
  assert.equal(JSON.parse(storage.getItem("k")).actions.length, 80);
  assert.ok(server.posts < 10, "the waits grow");
  server.down = false;
  await clock.pass(6000);
  assert.equal(outbox.waiting, 0);
  assert.equal(server.rows.length, 80);
});

test("a new page sends what the last one left, under the same client and numbers", async () => {
  const first = made({ id: "c-one" });
  first.server.down = true;
  first.outbox.add([label(1), label(2)]);
  await first.clock.pass(100);
  first.outbox.stop("closing");
  first.server.down = false;
  const second = made({ server: first.server, storage: first.storage, clock: first.clock, id: "c-two" });
  assert.equal(second.outbox.client, "c-one");
  assert.equal(second.outbox.next, 3);
  second.outbox.flush();
  await second.clock.pass(100);
  assert.deepEqual(
    first.server.rows.map((row) => row.seq),
    [1, 2],
  );
});

test("a page that was closed after the server stored its action does not store it twice", async () => {
  const first = made();
  first.server.drop = () => true;
  first.outbox.add([label(1)]);
  await first.clock.pass(10);
  first.outbox.stop("closing");
  first.server.drop = () => false;
  const second = made({ server: first.server, storage: first.storage, clock: first.clock });
  second.outbox.flush();
  await second.clock.pass(100);
  assert.equal(first.server.rows.length, 1);
  assert.deepEqual(second.answered, [[1, "accepted"]]);
});

test("drafts wait for a pause, and only the last one of a target is sent", async () => {
  const { clock, server, outbox } = made();
  outbox.add([draft(1, "g", 1)]);
  outbox.add([draft(2, "g", 2)]);
  await clock.pass(300);
  assert.equal(server.posts, 0);
  outbox.add([draft(3, "other", 1)]);
  await clock.pass(500);
  assert.deepEqual(
    server.rows.map((row) => row.seq),
    [2, 3],
  );
  outbox.add([draft(4, "g", 0)]);
  outbox.add([label(5, { target: "g" })]);
  await clock.pass(500);
  assert.deepEqual(
    server.rows.map((row) => row.seq),
    [2, 3, 5],
  );
});

test("references to an own action become the server's names once it is acknowledged", async () => {
  const { clock, server, outbox } = made();
  server.down = true;
  outbox.add([label(1)]);
  await clock.pass(10);
  outbox.batch = 1;
  outbox.add([label(2, { base: "#1" }), { seq: 3, type: "undo", entry: "#2" }]);
  server.down = false;
  await clock.pass(6000);
  assert.equal(server.rows[1].base, "v1");
  assert.equal(server.rows[2].entry, "e2");
});

test("a server that misses earlier actions gets a new client id, once", async () => {
  const { clock, server, outbox } = made();
  outbox.add([label(1)]);
  await clock.pass(10);
  server.clients.clear(); // an older backup
  outbox.add([label(2)]);
  await clock.pass(10000);
  assert.equal(outbox.client, "c-2");
  assert.equal(outbox.waiting, 0);
  assert.deepEqual(
    server.rows.map((row) => row.seq),
    [1, 2],
  );
});

for (const code of ["other_annotator", "removed", "forbidden"])
  test(`${code} stops the outbox with everything stored`, async () => {
    const { clock, server, outbox, storage } = made();
    server.error = Object.assign(new Error("The reason."), { code });
    outbox.add([label(1)]);
    await clock.pass(10000);
    assert.equal(server.posts, 1);
    assert.equal(outbox.stopped, code);
    assert.equal(JSON.parse(storage.getItem("k")).actions.length, 1);
    server.error = null;
    outbox.resume();
    await clock.pass(1000);
    assert.equal(server.rows.length, 1);
  });

test("a request that is too large is halved until it fits", async () => {
  const { clock, server, outbox } = made();
  const post = outbox.post;
  outbox.post = (body) =>
    body.actions.length > 3 ? Promise.reject(Object.assign(new Error("big"), { code: "too_large" })) : post(body);
  outbox.add(Array.from({ length: 20 }, (_, place) => label(place + 1)));
  await clock.pass(60000);
  assert.equal(server.rows.length, 20);
});

test("a full storage is reported, and the actions are still sent", async () => {
  const { clock, server, outbox, storage } = made();
  storage.full = true;
  outbox.add([label(1)]);
  assert.equal(outbox.stored, false);
  await clock.pass(100);
  assert.equal(server.rows.length, 1);
});

test("a damaged storage entry begins a new outbox", () => {
  const storage = new Storage();
  storage.setItem("k", "{");
  assert.equal(made({ storage }).outbox.waiting, 0);
});
