// The console of Holdfast. What comes from the server is shown by textContent only: a name is never markup.

const REFRESH_MILLIS = 5000;
const PATIENCE_MILLIS = 10000;
const MOST_NODES = 10;
const MOST_WAITERS = 100;
const MOST_OF_TIMELINE = 200;
const CALENDAR_DAYS = 28;
const DAY_MILLIS = 24 * 60 * 60 * 1000;
/** The database is busy with this page for at most a twentieth of the time. */
const REST = 20;
const BASE = new URL('.', import.meta.url);
const HEADERS = {Accept: 'application/json', 'X-Requested-With': 'XMLHttpRequest'};

const CAUSES = {
  EXPIRED: 'its lease was over',
  TAKEN_OVER: 'another owner was granted it',
  FORCED: 'released by force',
  DATABASE_UNREACHABLE: 'the database did not answer',
  DISCONNECTED: 'the connection broke',
  SERVICE_CLOSED: 'the service was closed',
};
const RUN_STATES = {RUNNING: 'running', SUCCEEDED: 'good', FAILED: 'bad', LOST: 'bad'};

const byId = id => document.getElementById(id);

let state = null;
let receivedAt = 0;
let problem = null;
let isPaused = false;
let isFetching = false;
let isWanted = false;
let timer = 0;
let query = {name: '', holder: '', lockState: ''};
/** The names at which the pages before this one ended. */
let ends = [];
let took = 0;
let announced = '';

/* Elements */

function element(tag, className, ...children) {
  const made = document.createElement(tag);
  if (className) {
    made.className = className;
  }
  made.append(...children);
  return made;
}

const text = value => element('span', '', value ?? '–');
/** Application, process, host and thread: a line best ends between them. */
const who = value => element('span', '', ...(value ?? '–').split(/(?<=[/@])/).flatMap(part => [part, element('wbr')]));
/** A name as a button that opens all that is known of it. */
function name(value) {
  const button = element('button', 'name', value);
  button.type = 'button';
  button.dataset.opens = value;
  button.setAttribute('aria-haspopup', 'dialog');
  button.addEventListener('click', () => openDetails(value));
  return button;
}
const quiet = (...children) => element('small', 'quiet', ...children);
const badge = (word, look) => element('span', `badge ${look}`, word);
const nodeBadge = node =>
  node.isAlive ? badge('alive', 'good') : node.isStopped ? badge('stopped', 'over') : badge('dead', 'bad');
const both = (first, second) => element('div', '', first, ' ', second);

const isOfPermits = hold => hold.permits !== undefined;
const isOfElection = hold => hold.process !== undefined;
const isShared = lock => lock.mode === 'SHARED';
const permits = count => `${count} ${count === 1 ? 'permit' : 'permits'}`;

/** A duration that counts on while the page is fresh. */
function duration(millis, perMilli, suffix = '') {
  const shown = element('span', 'duration');
  Object.assign(shown.dataset, {millis, perMilli, suffix});
  count(shown);
  return shown;
}

const rising = millis => duration(millis, 1);
const falling = millis => duration(millis, -1);
const fixed = millis => duration(millis, 0);
const ago = millis => duration(millis, 1, ' ago');

function count(shown) {
  const {millis, perMilli, suffix} = shown.dataset;
  const passed = isFresh() ? performance.now() - receivedAt : 0;
  const label = spell(Math.max(0, Number(millis) + Number(perMilli) * passed)) + suffix;
  if (shown.textContent !== label) {
    renew(shown, label);
  }
}

function spell(millis) {
  const seconds = Math.floor(millis / 1000);
  const minutes = Math.floor(seconds / 60);
  const hours = Math.floor(minutes / 60);
  if (seconds < 1) {
    return `${Math.floor(millis)} ms`;
  }
  if (minutes < 1) {
    return `${seconds} s`;
  }
  if (hours < 1) {
    return `${minutes} min ${seconds % 60} s`;
  }
  return hours < 24 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** The time of day, with the date unless that is the database's today. */
function instant(iso) {
  const [date, time] = iso.split('T');
  const isToday = state.clock.startsWith(date);
  const shown = element('time', '', isToday ? time.slice(0, 8) : `${date} ${time.slice(0, 5)}`);
  shown.dateTime = iso;
  return shown;
}

const lasting = hold => both(rising(hold.heldFor), quiet(instant(hold.acquiredAt)));
const kept = hold => hold.isKeptByNode
  ? both(text('by its node'), quiet('lease ', falling(hold.expiresIn)))
  : both(text('by a lease'), quiet('ends in ', falling(hold.expiresIn)));
const token = hold => element('span', 'number', hold.fencingToken);
const release = hold => state.readOnlyBecause === null ? releaseButton(hold) : '';

/** Who leads: what the candidate calls itself, and its process. */
function leading({leader, isLeader}) {
  if (leader === null) {
    return badge('no leader', 'bad');
  }
  const process = leader.process === leader.holder ? '' : quiet(who(leader.process));
  return element('div', 'leader', who(leader.holder), ' ', isLeader ? badge('this process', 'good') : '', ' ', process);
}

function waitingNodes(nodes) {
  if (nodes.length === 0) {
    return text('none');
  }
  const list = element('ul', 'nodes', ...nodes.slice(0, MOST_NODES).map(node => element('li', '', who(node.description ?? node.id))));
  if (nodes.length > MOST_NODES) {
    list.append(element('li', 'quiet', `and ${nodes.length - MOST_NODES} more`));
  }
  return list;
}

/** How many permits are in use, as a bar and in words. */
function usage(semaphore) {
  const bar = element('meter', semaphore.used < semaphore.limit ? '' : 'full');
  bar.max = Math.max(1, semaphore.limit);
  bar.value = semaphore.limit === 0 ? 1 : semaphore.used;
  bar.setAttribute('aria-label', 'Permits in use');
  const unlisted = semaphore.unlisted === 0 ? '' : quiet(`${semaphore.unlisted} of them without a listed holder`);
  return element('div', 'usage', name(semaphore.name), element('span', 'share', bar,
    element('span', 'number', `${semaphore.used} of ${permits(semaphore.limit)} in use`)), unlisted);
}

/** By how many a lock is shared. */
const sharing = lock => {
  const count = lock.holders.length;
  return element('div', 'usage', name(lock.name), badge(`shared by ${count} ${count === 1 ? 'holder' : 'holders'}`, 'running'));
};

/* Tables */

const TABLES = {
  held: {
    key: lock => `${lock.fencingToken} ${lock.name}`,
    cells: lock => [
      isShared(lock) ? element('span', 'quiet', lock.name) : name(lock.name),
      both(who(lock.holder ?? lock.owner), lock.holdCount > 1 ? quiet(`${lock.holdCount} times`) : ''),
      lasting(lock),
      kept(lock),
      token(lock),
      release(lock),
    ],
  },
  elections: {
    key: election => `${election.leader?.fencingToken} ${election.name}`,
    cells: election => [
      name(election.name),
      leading(election),
      election.leader === null ? '' : lasting(election.leader),
      waitingNodes(election.waiting),
      election.leader === null ? '' : token(election.leader),
      election.leader === null ? '' : release(election.leader),
    ],
  },
  semaphores: {
    key: holder => holder.fencingToken,
    cells: holder => [
      who(holder.holder ?? holder.owner),
      element('span', 'number', `${holder.permits}`),
      lasting(holder),
      kept(holder),
      token(holder),
      release(holder),
    ],
  },
  queues: {
    key: waiter => `${waiter.nodeId} ${waiter.mode} ${waiter.place}`,
    cells: waiter => [
      who(waiter.node ?? waiter.nodeId),
      element('span', 'number', `${waiter.place}`),
      rising(waiter.waited),
      text(waiter.mode === 'SHARED' ? 'shared' : 'exclusive'),
    ],
  },
  waiting: {
    key: waiter => `${waiter.holder} ${waiter.name}`,
    cells: waiter => [name(waiter.name), who(waiter.holder), rising(waiter.waited)],
  },
  nodes: {
    key: node => node.id,
    cells: node => [
      both(who(node.description), quiet(element('span', 'number', node.id))),
      nodeBadge(node),
      both(ago(node.startedAgo), quiet(instant(node.startedAt))),
      node.isAlive ? falling(node.expiresIn) : text('over'),
    ],
  },
  tasks: {
    key: run => `${run.fencingToken} ${run.name}`,
    cells: run => [
      name(run.name),
      badge(run.status.toLowerCase(), RUN_STATES[run.status] ?? 'over'),
      both(ago(run.begunAgo), quiet(instant(run.begunAt))),
      run.hasEnded ? fixed(run.took) : both(rising(run.took), quiet('so far')),
      who(run.holder),
      text(run.error),
    ],
  },
  timeline: {},
  losses: {
    key: loss => `${loss.fencingToken} ${loss.name}`,
    cells: loss => [
      name(loss.name),
      text(CAUSES[loss.cause] ?? loss.cause),
      ago(loss.ago),
      token(loss),
    ],
  },
};

// On a narrow screen rows are shown as cards, and browsers then forget that they are a table.
for (const [id, table] of Object.entries(TABLES)) {
  const shown = byId(`${id}-table`);
  table.labels = [...shown.querySelectorAll('th')].map(header => header.textContent);
  const roles = {table: [shown], rowgroup: [shown.tHead, ...shown.tBodies], row: shown.tHead.rows,
    columnheader: shown.querySelectorAll('th')};
  for (const [role, elements] of Object.entries(roles)) {
    [...elements].forEach(each => each.setAttribute('role', role));
  }
}

/**
 * Keeps the children of entries that still exist, so that the focus on a button in such a child stays. Children without a key
 * stay in front.
 */
function arrange(parent, entries, keyOf, make, show) {
  const keys = entries.map(entry => String(keyOf(entry)));
  const old = new Map([...parent.children].filter(child => child.dataset.key !== undefined).map(child => [child.dataset.key, child]));
  const first = parent.children.length - old.size;
  // First, because a child that is moved loses the focus and the selection, and those that stay need no move then.
  const wanted = new Set(keys);
  old.forEach((child, key) => wanted.has(key) || child.remove());
  entries.forEach((entry, index) => {
    const key = keys[index];
    const child = old.get(key) ?? make(entry);
    child.dataset.key = key;
    show(child, entry);
    const there = parent.children[first + index] ?? null;
    if (there !== child) {
      parent.insertBefore(child, there);
    }
  });
}

function fillBody(table, body, entries) {
  arrange(body, entries, table.key, () => newRow(table), (row, entry) => update(row, table.cells(entry)));
}

function fill(id, entries, more) {
  const shown = byId(`${id}-table`);
  fillBody(TABLES[id], shown.tBodies[0], entries);
  tellRest(shown, entries, more);
}

/** One group of rows for each semaphore, with a row for each holder. */
function fillSemaphores({entries, more}) {
  const table = TABLES.semaphores;
  const shown = byId('semaphores-table');
  arrange(shown, entries, semaphore => semaphore.name, () => newGroup(heading(table.labels.length)), (group, semaphore) => {
    renew(group.rows[0].cells[0], usage(semaphore));
    fillBody(table, group, semaphore.holders);
  });
  tellRest(shown, entries, more);
}

/** Those with the greatest values first; equal ones stay in their order. */
const greatestFirst = (entries, valueOf) => [...entries].sort((one, other) => valueOf(other) - valueOf(one));

/** A row for each lock that is held exclusively, and a group of rows for each one that is shared. Longest held first. */
function fillHeld(page) {
  const locks = greatestFirst(page, lock => Math.max(...lock.holders.map(holder => holder.heldFor)));
  const table = TABLES.held;
  const shown = byId('held-table');
  arrange(shown, locks, lock => `${lock.mode} ${lock.name}`, lock => isShared(lock) ? newSharedGroup(table) : newGroup(), (group, lock) => {
    if (isShared(lock)) {
      renew(group.rows[0].cells[0], sharing(lock));
      showReleaseOfAll(group.rows[0].cells[1], lock);
    }
    fillBody(table, group, lock.holders);
  });
  tellRest(shown, locks, 0);
}

/** A group of rows for each lock that has waiters: its holder on top, and those behind. Longest wait first. */
function fillQueues(unsorted) {
  const queues = greatestFirst(unsorted, queue => Math.max(0, ...queue.waiters.map(waiter => waiter.waited)));
  const table = TABLES.queues;
  const shown = byId('queues-table');
  let left = MOST_WAITERS;
  const lists = [];
  for (const queue of queues) {
    const waiters = queue.waiters.slice(0, left).map((waiter, index) => ({...waiter, place: index + 1}));
    left -= waiters.length;
    if (waiters.length > 0) {
      lists.push({...queue, waiters});
    }
  }
  arrange(shown, lists, queue => queue.name, () => newGroup(heading(table.labels.length)), (group, queue) => {
    const holder = queue.holder === null
      ? [quiet('no single holder: shared, permits, or free')] : [text('held by'), who(queue.holder), quiet('for ', rising(queue.heldFor))];
    renew(group.rows[0].cells[0], element('div', 'usage', name(queue.name), element('span', 'share', ...holder)));
    fillBody(table, group, queue.waiters);
  });
  shown.hidden = lists.length === 0;
  const isMore = queues.flatMap(queue => queue.waiters).length > MOST_WAITERS;
  byId('more-queues').hidden = !isMore;
  byId('more-queues').textContent = isMore ? `The first ${MOST_WAITERS} of more. Choose a lock to see its own queue.` : '';
}

function newGroup(...cells) {
  const group = element('tbody');
  group.setAttribute('role', 'rowgroup');
  if (cells.length > 0) {
    const row = element('tr', 'group', ...cells);
    row.setAttribute('role', 'row');
    group.append(row);
  }
  return group;
}

function newSharedGroup(table) {
  const action = element('td', 'action');
  action.setAttribute('role', 'cell');
  return newGroup(heading(table.labels.length - 1), action);
}

function heading(columns) {
  const made = element('th');
  made.scope = 'rowgroup';
  made.colSpan = columns;
  made.setAttribute('role', 'rowheader');
  return made;
}

/** The button stays, with the focus, while holders come and go. It releases what the page shows when it is pressed. */
function showReleaseOfAll(cell, lock) {
  chosenByButton.set(cell, lock);
  if (state.readOnlyBecause !== null) {
    cell.replaceChildren();
  } else if (cell.querySelector('button') === null) {
    cell.replaceChildren(dangerButton('Release all…', ` holders of ${lock.name} by force`, () => choose(chosenByButton.get(cell))));
  }
  cell.classList.toggle('nothing', cell.children.length === 0);
}

function tellRest(shown, entries, more) {
  shown.hidden = entries.length === 0;
  const section = shown.closest('section');
  section.querySelector('.empty').hidden = entries.length > 0;
  const rest = section.querySelector('.more');
  if (rest) {
    rest.hidden = more === 0;
    rest.textContent = `and ${more} more`;
  }
}

function newRow(table) {
  const row = element('tr');
  row.setAttribute('role', 'row');
  table.labels.forEach((label, index) => {
    const cell = element(index === 0 ? 'th' : 'td');
    cell.setAttribute('role', index === 0 ? 'rowheader' : 'cell');
    if (index === 0) {
      cell.scope = 'row';
    }
    cell.dataset.label = label;
    row.append(cell);
  });
  return row;
}

function update(row, contents) {
  contents.forEach((content, index) => {
    const cell = row.cells[index];
    cell.classList.toggle('nothing', content === '');
    renew(cell, content);
  });
}

/** Shows these children, and keeps all that is shown already: selected text, the focus, and the place of a screen reader stay. */
function renew(parent, ...contents) {
  const made = contents.map(content => content instanceof Node ? content : new Text(content));
  const old = [...parent.childNodes];
  if (old.length === made.length) {
    made.forEach((child, index) => renewChild(old[index], child));
  } else {
    parent.replaceChildren(...made);
  }
}

function renewChild(old, made) {
  if (old.isEqualNode(made)) {
    return;
  }
  if (old.nodeName !== made.nodeName || made instanceof HTMLButtonElement) {
    old.replaceWith(made);
  } else if (made instanceof Text) {
    old.data = made.data;
  } else {
    old.getAttributeNames().filter(each => !made.hasAttribute(each)).forEach(each => old.removeAttribute(each));
    made.getAttributeNames().forEach(each => old.setAttribute(each, made.getAttribute(each)));
    renew(old, ...made.childNodes);
  }
}

/* Refreshing */

const isOld = () => performance.now() - receivedAt > 3 * REFRESH_MILLIS;
const isFresh = () => !isPaused && problem === null && !isOld();

async function ask(path, options = {}) {
  const answer = await fetch(new URL(path, BASE), {
    headers: HEADERS, redirect: 'manual', cache: 'no-store', signal: AbortSignal.timeout(PATIENCE_MILLIS), ...options,
  });
  if (answer.type === 'opaqueredirect' || answer.status === 401) {
    throw new Error('you are no longer logged in: reload the page');
  }
  const isJson = answer.headers.get('Content-Type')?.startsWith('application/json');
  const body = isJson ? await answer.json() : {};
  if (!answer.ok || !isJson) {
    throw new Error(body.error ?? body.message ?? `the server answered ${answer.status}`);
  }
  return body;
}

function why(failure) {
  if (failure.name === 'TimeoutError') {
    return 'the server does not answer';
  }
  return failure instanceof TypeError ? 'the server cannot be reached' : failure.message;
}

async function refresh() {
  clearTimeout(timer);
  if (isFetching) {
    isWanted = true;
    return;
  }
  isFetching = true;
  try {
    do {
      isWanted = false;
      await fetchState();
    } while (isWanted);
  } finally {
    isFetching = false;
    schedule();
  }
}

async function fetchState() {
  const asked = performance.now();
  const [wanted, begin] = [query, ends];
  try {
    const answer = await ask(`state?${new URLSearchParams({...wanted, after: begin.at(-1) ?? ''})}`);
    if (wanted !== query || begin !== ends) {
      // Somebody has searched or turned the page meanwhile: this answers another question.
      return;
    }
    state = answer;
    receivedAt = performance.now();
    problem = null;
    keepingFocus(show);
  } catch (failure) {
    problem = why(failure);
  } finally {
    took = performance.now() - asked;
  }
  showFreshness();
}

function schedule() {
  clearTimeout(timer);
  if (!isPaused && !document.hidden) {
    timer = setTimeout(refresh, Math.max(REFRESH_MILLIS, REST * took));
  }
}

function show() {
  renew(byId('process'), state.process);
  const readOnly = byId('read-only');
  readOnly.hidden = state.readOnlyBecause === null;
  readOnly.textContent = state.readOnlyBecause ?? '';
  document.body.classList.toggle('is-read-only', state.readOnlyBecause !== null);
  fillHeld(state.held);
  tellFound();
  fillQueues(state.queues);
  fill('elections', state.elections, 0);
  fillSemaphores(state.semaphores);
  byId('next-page').disabled = false;
  byId('next-page').hidden = state.nextHeld === null;
  byId('first-page').hidden = ends.length === 0;
  byId('previous-page').hidden = ends.length < 2;
  renew(byId('this-node'), 'This process: ',
    ...(state.heartbeatAge === null ? ['no node'] : ['last heartbeat ', ago(state.heartbeatAge)]),
    `; the database’s clock is ${offset(state.clockAhead)} this machine’s.`);
  const sections = {waiting: state.waiters, nodes: state.nodes, tasks: state.runs, losses: state.losses};
  for (const [id, part] of Object.entries(sections)) {
    fill(id, part.entries, part.more);
  }
  showCounts();
}

const isFiltered = () => Object.values(query).some(value => value !== '');

const offset = millis => Math.abs(millis) < 1 ? 'level with' : `${spell(Math.abs(millis))} ${millis < 0 ? 'behind' : 'ahead of'}`;

/** Says how many of how many are shown. Nobody counts all: that would read the whole table. */
function tellFound() {
  const count = state.held.length;
  const which = isFiltered() ? ' that match' : '';
  const isLast = state.nextHeld === null;
  let words = `All ${count}${which}.`;
  if (ends.length > 0) {
    words = `Page ${ends.length + 1}: ${count}${which}${isLast ? ', the last ones' : ' of more'}.`;
  } else if (!isLast) {
    words = `The first ${count}${which}, of more.`;
  }
  const found = byId('found');
  found.hidden = count === 0 || (isLast && ends.length === 0 && !isFiltered());
  renew(found, words);
  const empty = byId('held-table').closest('section').querySelector('.empty');
  renew(empty, isFiltered() ? 'No held lock matches. Elections and semaphores are below.' : 'No lock is held.',
    ...(count === 0 && query.name !== '' ? [' All that is known of ', name(query.name)] : []));
  byId('clear').hidden = !isFiltered();
}

/** What is drawn anew loses the focus. */
function keepingFocus(draw) {
  const focused = document.activeElement;
  const opens = focused?.dataset.opens;
  const section = focused?.closest('section');
  draw();
  if (opens !== undefined && section && !focused.isConnected) {
    section.querySelector(`[data-opens="${CSS.escape(opens)}"]`)?.focus();
  }
}

function showCounts() {
  const all = part => part.entries.length + part.more;
  const isPage = ends.length > 0 || state.nextHeld !== null;
  const held = isPage ? `${state.held.length}${state.nextHeld === null ? '' : '+'}` : `${state.held.length}`;
  const alive = state.nodes.entries.filter(node => node.isAlive).length;
  const failed = state.runs.entries.filter(run => RUN_STATES[run.status] === 'bad').length;
  byId('held-count').textContent = held;
  // The nodes of the cluster that wait, one for each lock. Threads behind another one of their process are only known there.
  const queued = state.queues.flatMap(queue => queue.waiters).length;
  const waiting = queued > MOST_WAITERS ? `${MOST_WAITERS}+` : `${Math.max(queued, all(state.waiters))}`;
  const leaderless = state.elections.filter(election => election.leader === null).length;
  byId('elections-count').textContent = state.elections.length;
  byId('elections-word').textContent =
    (state.elections.length === 1 ? 'election' : 'elections') + (leaderless ? `, ${leaderless} without leader` : '');
  const full = state.semaphores.entries.filter(semaphore => semaphore.used >= semaphore.limit).length;
  byId('semaphores-count').textContent = all(state.semaphores);
  byId('semaphores-word').textContent =
    (all(state.semaphores) === 1 ? 'semaphore' : 'semaphores') + (full ? `, ${full} full` : '');
  byId('waiting-count').textContent = waiting;
  byId('nodes-count').textContent = alive;
  byId('nodes-word').textContent = alive === 1 ? 'node alive' : 'nodes alive';
  byId('tasks-count').textContent = all(state.runs);
  byId('tasks-word').textContent = (all(state.runs) === 1 ? 'task' : 'tasks') + (failed ? `, ${failed} not well` : '');
  byId('losses-count').textContent = all(state.losses);
  announce(`${held} ${isFiltered() ? 'found' : 'held'}, ${waiting} waiting, ${all(state.losses)} lost`);
}

/** Announces a sentence to screen readers, only when it changes. */
function announce(sentence) {
  if (sentence !== announced) {
    announced = sentence;
    byId('announcement').textContent = sentence;
  }
}

function showFreshness() {
  document.body.classList.toggle('is-stale', problem !== null);
  const alert = byId('problem');
  const warning = problem === null ? '' : `Could not refresh: ${problem}.`
      + (state === null ? '' : ' What you see is no longer up to date.');
  if (alert.textContent !== warning) {
    alert.textContent = warning;
    alert.hidden = warning === '';
  }
  tick();
}

function tick() {
  const shown = byId('freshness');
  const age = spell(Math.floor((performance.now() - receivedAt) / 1000) * 1000).replace('0 ms', 'now');
  let words = 'Loading';
  let look = 'waiting';
  if (problem !== null) {
    [words, look] = [state === null ? 'No data' : `Stale: ${age} old`, 'bad'];
  } else if (state !== null && isPaused) {
    [words, look] = [`Paused: ${age} old`, 'waiting'];
  } else if (state !== null) {
    [words, look] = [age === 'now' ? 'Updated just now' : `Updated ${age} ago`, isOld() ? 'waiting' : 'good'];
  }
  shown.textContent = words;
  shown.className = `badge ${look}`;
  if (isFresh()) {
    document.querySelectorAll('.duration').forEach(count);
  }
}

/* What people do */

byId('pause').addEventListener('click', () => {
  isPaused = !isPaused;
  byId('pause').textContent = isPaused ? 'Resume' : 'Pause';
  if (isPaused) {
    clearTimeout(timer);
    tick();
  } else {
    refresh();
  }
});

document.addEventListener('visibilitychange', () => {
  clearTimeout(timer);
  if (!document.hidden && !isPaused) {
    refresh();
  }
});

function turnTo(...newEnds) {
  ends = newEnds;
  byId('held').focus();
  refreshAnew();
}

/** The button that turns the page needs the answer that is to come. */
function refreshAnew() {
  byId('next-page').disabled = true;
  refresh();
}

function search() {
  query = Object.fromEntries([...new FormData(byId('find'))].map(([key, value]) => [key, value.trim()]));
  ends = [];
  refreshAnew();
}

byId('find').addEventListener('submit', event => {
  event.preventDefault();
  search();
});
byId('lock-state').addEventListener('change', search);
byId('clear').addEventListener('click', () => {
  byId('find').reset();
  search();
  byId('name').focus();
});
byId('next-page').addEventListener('click', () => turnTo(...ends, state.lastHeld));
byId('previous-page').addEventListener('click', () => turnTo(...ends.slice(0, -1)));
byId('first-page').addEventListener('click', () => turnTo());

document.addEventListener('keydown', event => {
  // With Ctrl, because dictation and stray keys type single characters.
  if (event.key === '/' && event.ctrlKey && !event.metaKey && !event.altKey && !event.target.closest('dialog')) {
    event.preventDefault();
    byId('name').focus();
  }
});

/* All that is known of one lock */

const details = byId('details');

const EVENTS = {
  ACQUIRED: () => ['acquired', 'good'],
  RELEASED: event => [`released: ${event.detail.toLowerCase().replaceAll('_', ' ')}`, event.detail === 'RELEASED' ? 'over' : 'waiting'],
  TAKEN_OVER: () => ['taken over', 'waiting'],
  DEFERRED: () => ['release deferred', 'waiting'],
  SUSPECT: () => ['suspect', 'waiting'],
  LOST: () => ['lost', 'bad'],
};
const EVENT_REASONS = {
  TAKEN_OVER: event => event.detail === null ? '' : `from ${event.detail}`,
  DEFERRED: () => 'a transaction under the lock is unfinished',
  SUSPECT: () => 'the heartbeat is overdue',
  LOST: event => CAUSES[event.detail] ?? event.detail,
};

async function openDetails(lockName) {
  byId('details-name').textContent = lockName;
  byId('details-content').hidden = true;
  complainIn('details-problem', '');
  details.showModal();
  byId('details-reading').textContent = 'Reading…';
  try {
    const answer = await ask(`lock?${new URLSearchParams({name: lockName})}`);
    if (details.open && byId('details-name').textContent === answer.name) {
      showDetails(answer);
    }
  } catch (failure) {
    if (details.open && byId('details-name').textContent === lockName) {
      byId('details-reading').textContent = '';
      complainIn('details-problem', `Could not be read: ${why(failure)}.`);
    }
  }
}

function showDetails(lock) {
  byId('details-process').textContent = lock.process;
  showQueue(lock);
  byId('details-runs').hidden = lock.runs.length === 0;
  if (lock.runs.length > 0) {
    showCalendar(lock);
  }
  showTimeline(lock);
  byId('details-reading').textContent = '';
  byId('details-content').hidden = false;
}

function showQueue({holders, waiters, threads}) {
  const item = (who, badge, ...rest) => element('li', '', badge, ' ', who, ' ', quiet(...rest));
  byId('details-queue').replaceChildren(
    ...(holders.length > 0 ? holders.map(holder => item(who(holder.holder ?? holder.owner), badge('holds', 'good'),
      `${isOfPermits(holder) ? `${permits(holder.permits)} ` : ''}for ${spell(holder.heldFor)}, ${holder.isKeptByNode ? 'kept by its node' : `lease ends in ${spell(holder.expiresIn)}`}`))
      : [element('li', 'quiet', 'This lock is free.')]),
    ...waiters.map(waiter => item(who(waiter.node ?? waiter.nodeId), badge('waits', 'waiting'),
      `for ${spell(waiter.waited)}, since `, instant(waiter.since), waiter.mode === 'SHARED' ? ', to share it' : '')),
    ...threads.map(thread => item(who(thread.holder), badge('thread', 'waiting'), `of this process, waits for ${spell(thread.waited)}`)));
}

/** A cell for each day, by the database's clock, in UTC. */
function showCalendar({clock, runs, mostRuns}) {
  const today = Date.parse(clock.slice(0, 10));
  const isCut = runs.length >= mostRuns;
  const oldest = runs.at(-1).begunAt.slice(0, 10);
  const cells = [];
  for (let ago = CALENDAR_DAYS - 1; ago >= 0; ago--) {
    const day = new Date(today - ago * DAY_MILLIS).toISOString().slice(0, 10);
    const ofDay = runs.filter(run => run.begunAt.startsWith(day));
    cells.push(day < oldest ? unknownCell(day) : calendarCell(day, ofDay, isCut && day === oldest));
  }
  byId('calendar').replaceChildren(...cells);
  byId('calendar-text').textContent = `The last ${CALENDAR_DAYS} days in UTC, with the number of runs of each; ▲ counts those that failed or were lost. ?: before the oldest run that is kept.`
    + (isCut ? ` Only the last ${mostRuns} runs are read: up to ${oldest} some are not counted.` : '');
}

function unknownCell(day) {
  return dayCell('none unknown', day, '?', `${day}: not known`);
}

function calendarCell(day, runs, isPart) {
  const failed = runs.filter(run => RUN_STATES[run.status] === 'bad').length;
  const running = runs.filter(run => run.status === 'RUNNING').length;
  const look = failed > 0 ? 'bad' : running > 0 ? 'running' : runs.length > 0 ? 'good' : 'none';
  const words = `${day}: ${runs.length === 1 ? '1 run' : `${runs.length} runs`}, ${failed} failed or lost`
    + (running > 0 ? `, ${running} running` : '') + (isPart ? ', perhaps more' : '');
  return dayCell(look, day, runs.length === 0 ? '·' : failed > 0 ? `▲${failed}` : `${runs.length}`, words);
}

function dayCell(look, day, sign, words) {
  const seen = element('span', '', element('small', '', day.slice(8)), element('b', '', sign));
  seen.setAttribute('aria-hidden', 'true');
  const cell = element('li', look, seen, element('span', 'unseen', words));
  cell.title = words;
  return cell;
}

function showTimeline(lock) {
  const granted = new Set(lock.holders.map(holder => holder.fencingToken));
  const told = [
    ...lock.holders.map(holder => ({at: holder.acquiredAt, what: ['acquired', 'good'], why: holder.holder ?? holder.owner,
      fencingToken: holder.fencingToken})),
    ...lock.acts.map(act => ({at: act.at, what: act.action === 'FORCED_RELEASE' ? ['released by force', 'bad'] : ['new limit', 'waiting'],
      why: `${act.reason} (by ${act.by}${act.holder === null ? '' : `, from ${act.holder}`})`, fencingToken: act.fencingToken})),
    // The ends come first, because a run may take less than a millisecond, and the order of what happened at the same time stays.
    ...lock.runs.filter(run => run.endedAt !== null).map(run => ({at: run.endedAt,
      what: [`run ${run.status.toLowerCase()}`, RUN_STATES[run.status] ?? 'over'], why: run.error, fencingToken: run.fencingToken})),
    ...lock.runs.map(run => ({at: run.begunAt, what: ['run began', 'running'], why: run.holder, fencingToken: run.fencingToken})),
    ...lock.events.filter(event => event.kind !== 'ACQUIRED' || !granted.has(event.fencingToken)).map(event => ({at: event.at,
      what: EVENTS[event.kind](event), why: EVENT_REASONS[event.kind]?.(event), fencingToken: event.fencingToken, isOfProcess: true})),
  ].sort((one, other) => Date.parse(other.at) - Date.parse(one.at));
  const shown = told.slice(0, MOST_OF_TIMELINE);
  byId('timeline-table').tBodies[0].replaceChildren(...shown.map(entry => {
    const row = newRow(TABLES.timeline);
    update(row, [instant(entry.at), badge(...entry.what), who(entry.why || '–'), token(entry),
      text(entry.isOfProcess ? 'this process' : 'database')]);
    return row;
  }));
  byId('timeline-table').hidden = told.length === 0;
  byId('timeline-empty').hidden = told.length > 0;
  byId('timeline-more').hidden = told.length <= MOST_OF_TIMELINE;
  byId('timeline-more').textContent = `The last ${MOST_OF_TIMELINE} of ${told.length}.`;
}

byId('details-close').addEventListener('click', () => details.close());
details.addEventListener('close', () => {
  if (document.activeElement === document.body) {
    // The button that has opened it was drawn anew.
    document.querySelector(`main [data-opens="${CSS.escape(byId('details-name').textContent)}"]`)?.focus();
  }
});

/* Forced release */

const dialog = byId('release');
const chosenByButton = new WeakMap();
let chosen = null;

const part = hold => isOfPermits(hold) ? `${permits(hold.permits)} of ${hold.name}` : hold.name;

function releaseButton(hold) {
  if (isOfElection(hold)) {
    return dangerButton('Depose…', ` the leader of ${hold.name} by force`, () => choose(hold));
  }
  // A semaphore and a shared lock have several holders, each with a button.
  const whose = isOfPermits(hold) || isShared(hold) ? `, held by ${hold.holder ?? hold.owner},` : '';
  return dangerButton('Release…', ` ${part(hold)}${whose} by force`, () => choose(hold));
}

function dangerButton(word, unseen, press) {
  const button = element('button', 'danger', word, element('span', 'unseen', unseen));
  button.type = 'button';
  button.addEventListener('click', press);
  return button;
}

/** One hold, or a shared lock with all its holders. */
function choose(hold) {
  chosen = hold;
  const holders = hold.holders?.length ?? 1;
  byId('release-name').textContent = part(hold);
  byId('release-holders').textContent =
    isOfElection(hold) ? 'The leader is' : holders === 1 ? 'The holder is' : 'The holders are';
  byId('release-holder').textContent = (hold.holders ?? [hold]).map(each => each.holder ?? each.owner).join(', ');
  byId('release-guard').textContent = isOfPermits(hold) ? 'them' : 'it';
  byId('release-what').textContent =
    isOfElection(hold) ? 'the leadership' : isOfPermits(hold) ? 'the permits' : isShared(hold) ? 'the lock alone' : 'the lock';
  byId('release-user').textContent = state.user;
  byId('reason').value = '';
  byId('outcome').textContent = '';
  complain('');
  dialog.showModal();
}

function complainIn(id, sentence) {
  byId(id).textContent = sentence;
  byId(id).hidden = sentence === '';
}

function complain(sentence) {
  complainIn('release-problem', sentence);
  byId('reason').setAttribute('aria-invalid', String(sentence !== ''));
}

byId('cancel').addEventListener('click', () => dialog.close());

dialog.querySelector('form').addEventListener('submit', async event => {
  event.preventDefault();
  const reason = byId('reason').value.trim();
  if (reason === '') {
    complain('Give a reason for the audit record.');
    byId('reason').focus();
    return;
  }
  byId('confirm').disabled = true;
  try {
    await releaseByForce(reason);
    dialog.close();
    byId(isOfPermits(chosen) ? 'semaphores' : isOfElection(chosen) ? 'elections' : 'held').focus();
    byId('outcome').textContent = `Released by force: ${part(chosen)}.`;
  } catch (failure) {
    complain(`Not released: ${why(failure)}.`);
    byId('reason').focus();
  } finally {
    byId('confirm').disabled = false;
    refresh();
  }
});

function releaseByForce(reason) {
  const fencingToken = (chosen.holders ?? [chosen]).map(hold => hold.fencingToken).join(',');
  const form = new URLSearchParams({name: chosen.name, fencingToken, reason});
  if (state.token !== null) {
    form.set(state.tokenParameter, state.token);
  }
  return ask(isOfPermits(chosen) ? 'release-permits' : 'release', {method: 'POST', body: form});
}

setInterval(tick, 1000);
refresh();
