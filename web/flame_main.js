/*
 * Input: pointer, keys, search, links. The part of the address behind '#' holds the
 * state (`frame=a;b;c`, `search=text`), so back, forward and a copied link show the
 * same again.
 */
const BASE_SEEN = 0.3; /* of the width: see startAtTheBase() */
const BASE_MARGIN = 30; /* px; the status row */
const HELP = [
	['click, Enter', 'zoom to the frame'],
	['Escape, 0', 'leave the search; the whole graph again'],
	['arrows', 'parent, child, neighbours'],
	['/ or Ctrl+F', 'search; small letters match both cases, /\u2026/ is an expression'],
	['n, N', 'next and previous match'],
	['i', 'root at the top or at the bottom'],
	['d', 'light or dark'],
	['c', 'copy the name'],
	['?', 'this list'],
];

function start() {
	const root = document.getElementById('culprit-flame');
	const model = makeModel(JSON.parse(document.getElementById('flame-data').textContent));
	const view = makeView(root, model);
	const app = {
		root, model, view,
		tip: makeTip(view),
		details: root.querySelector('#details'),
		matched: root.querySelector('#matched'),
		search: '',
		pointer: -1,
	};
	if (!root.hasAttribute('tabindex'))
		root.setAttribute('tabindex', '0');
	app.details.setAttribute('role', 'status');
	app.matched.setAttribute('role', 'status');
	addControls(app);
	listen(app);
	resize(app);
	followLink(app);
	startAtTheBase(app);
}

/* Scrolls down to the root where the lowest row in the window covers less than BASE_SEEN of the width:
 * only the tips of towers. */
function startAtTheBase(app) {
	const { model, view } = app;
	const hidden = view.top + view.height - window.innerHeight;
	if (view.icicle || hidden <= 0 || app.view.zoomed > 0)
		return;
	const row = model.rows[Math.min(model.rows.length - 1, Math.ceil(hidden / view.row))];
	const covered = row.reduce((sum, i) => sum + model.w[i], 0);
	if (covered < BASE_SEEN * model.w[0])
		window.scrollTo(0, view.top + view.height + BASE_MARGIN - window.innerHeight);
}

/* Search and buttons stay in sight. */
function followScroll(app) {
	const top = Math.max(0, -app.root.getBoundingClientRect().top);
	app.controls.setAttribute('y', top + 6);
	app.controls.firstChild.classList.toggle('floating', top > 0);
}

/* --- controls --- */

function addControls(app) {
	const place = document.createElementNS(SVG, 'foreignObject');
	place.setAttribute('y', 6);
	place.setAttribute('height', 30);
	const bar = element('div', 'bar');
	const button = (label, title, act) => {
		const made = element('button', '', label);
		made.setAttribute('type', 'button');
		made.setAttribute('title', title);
		made.addEventListener('click', () => {
			act();
			made.blur();
		});
		bar.appendChild(made);
		return made;
	};
	app.reset = button('Reset zoom', 'the whole graph again (0)', () => zoomTo(app, 0));
	app.input = element('input');
	app.input.setAttribute('type', 'text');
	app.input.setAttribute('placeholder', 'Search');
	app.input.setAttribute('aria-label', 'search for a name');
	app.input.setAttribute('spellcheck', 'false');
	app.input.setAttribute('title', 'a part of a name, or /expression/ (Ctrl+F)');
	bar.appendChild(app.input);
	app.turn = button('', 'root at the top or at the bottom (i)', () => turnOver(app));
	app.theme = button('', 'light or dark (d)', () => changeTheme(app));
	app.help = button('?', 'keys (?)', () => toggleHelp(app));
	place.appendChild(bar);
	app.controls = place;
	app.root.querySelector('#controls').appendChild(place);
	nameButtons(app);
}

function isDark(app) {
	const theme = app.root.getAttribute('data-theme');
	return theme ? theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
}

function nameButtons(app) {
	app.turn.textContent = app.view.icicle ? 'Flame' : 'Icicle';
	app.theme.textContent = isDark(app) ? 'Light' : 'Dark';
	app.reset.hidden = app.view.zoomed === 0;
}

function changeTheme(app) {
	const theme = isDark(app) ? 'light' : 'dark';
	app.root.setAttribute('data-theme', theme);
	document.documentElement.setAttribute('data-theme', theme);
	nameButtons(app);
}

function turnOver(app) {
	app.view.icicle = !app.view.icicle;
	hideTip(app.tip);
	draw(app.view);
	nameButtons(app);
}

function toggleHelp(app) {
	if (app.helping) {
		app.helping.remove();
		app.helping = null;
		return;
	}
	const box = element('div', 'tip shown help');
	const table = element('table');
	HELP.forEach(line => table.appendChild(tableRow(line)));
	box.appendChild(table);
	app.helping = document.createElementNS(SVG, 'foreignObject');
	app.helping.setAttribute('width', 1);
	app.helping.setAttribute('height', 1);
	app.helping.appendChild(box);
	app.root.appendChild(app.helping);
	app.helping.setAttribute('x', Number(app.root.getAttribute('width')) - box.offsetWidth - 12);
	app.helping.setAttribute('y', 40);
}

/* Controls keep to the right edge; the status row lies at the left and right of the bottom. */
function resize(app) {
	const wide = document.documentElement === app.root ? window.innerWidth : document.documentElement.clientWidth;
	fitWindow(app.view, wide || app.view.drawnWidth, window.innerHeight);
	const width = Number(app.root.getAttribute('width'));
	app.controls.setAttribute('x', width - 412);
	app.controls.setAttribute('width', 400);
	app.matched.setAttribute('x', width - app.view.left);
	app.matched.setAttribute('text-anchor', 'end');
	hideTip(app.tip);
	draw(app.view);
}

/* --- zoom and links --- */

function linkOfState(app) {
	const parts = [];
	if (app.view.zoomed > 0)
		parts.push('frame=' + linkOf(app.model, app.view.zoomed));
	if (app.search)
		parts.push('search=' + encodeURIComponent(app.search));
	return parts.join('&');
}

/* Puts the state into the address. `step`: as an entry of the history; else in place of the last one. */
function remember(app, step) {
	const link = '#' + linkOfState(app);
	if (link === (location.hash || '#'))
		return;
	app.own = link;
	if (step)
		location.hash = link;
	else
		location.replace(link);
}

function zoomTo(app, i, quiet) {
	app.view.zoomed = i;
	hideTip(app.tip);
	draw(app.view);
	nameButtons(app);
	if (app.matches)
		sayMatched(app);
	if (!quiet)
		remember(app, true);
}

function followLink(app) {
	if (app.own !== undefined && app.own === (location.hash || '#')) {
		app.own = undefined;
		return;
	}
	const asked = { frame: '', search: '' };
	for (const part of location.hash.replace(/^#/, '').split('&')) {
		const at = part.indexOf('=');
		if (at > 0)
			asked[part.slice(0, at)] = part.slice(at + 1);
	}
	const i = frameOfLink(app.model, asked.frame);
	setSearch(app, decoded(asked.search));
	app.input.value = app.search;
	zoomTo(app, i < 0 ? 0 : i, true);
	if (i < 0)
		say(app, `not in this graph: ${decoded(asked.frame)}`);
}

function decoded(text) {
	try {
		return decodeURIComponent(text);
	} catch (error) {
		return text;
	}
}

function say(app, text) {
	app.details.textContent = text;
}

/* --- search --- */

function setSearch(app, text) {
	app.search = text;
	app.matches = null;
	const matches = text ? matcherOf(text) : null;
	app.input.classList.toggle('wrong', Boolean(text) && !matches);
	if (matches)
		app.matches = matches;
	app.result = matches ? searchIn(app.model, matches, 0) : null;
	if (app.result || app.view.found)
		markFound(app.view, app.result && app.result.hits);
	app.order = app.result ? app.result.hits : [];
	sayMatched(app);
}

function sayMatched(app) {
	if (!app.matches) {
		app.matched.textContent = app.search ? 'not a valid expression' : '';
		return;
	}
	const { hits, tops } = app.result;
	let text = `Matched: ${matchedText(app, tops)}, ${hits.length} ${hits.length === 1 ? 'frame' : 'frames'}`;
	if (app.view.zoomed > 0) {
		const { zoomed } = app.view;
		const inside = searchIn(app.model, app.matches, zoomed).tops;
		const { frames } = app.model;
		text += `; ${percentText(sumOf(app.model, frames, inside), sumOf(app.model, frames, [zoomed]))} of what is zoomed`;
	}
	app.matched.textContent = text;
}

function matchedText(app, tops) {
	const { model } = app;
	const { events, diff, width_event: width } = model.data;
	const event = events[width];
	const sum = sumOf(model, model.frames, tops);
	const share = percentText(sum, event.total);
	if (!diff)
		return `${share} of ${event.name} (${countText(sum, event.scale)})`;
	return `${percentText(sumOf(model, model.frames.before, tops), diff.total[width])} of ${event.name} before, ${share} after`;
}

function nextMatch(app, step) {
	const { order, view, model } = app;
	if (order.length === 0)
		return;
	const at = order.findIndex(i => i >= view.focus);
	const here = at < 0 ? order.length : at;
	const next = view.focus === order[here] || step < 0 ? here + step : here;
	const i = order[(next + order.length) % order.length];
	if (!inSight(view, i))
		zoomTo(app, commonAncestor(model, view.zoomed, i));
	focusOn(app, i);
}

function inSight(view, i) {
	const { model, zoomed } = view;
	return (i >= zoomed && i < model.end[zoomed]) || (zoomed >= i && zoomed < model.end[i]);
}

function commonAncestor(model, a, b) {
	while (!(b >= a && b < model.end[a]))
		a = model.parent[a];
	return a;
}

/* --- pointer and keys --- */

function frameUnder(app, event) {
	const { view, model } = app;
	const seen = app.root.getBoundingClientRect();
	const scale = Number(app.root.getAttribute('width')) / (seen.width || 1);
	const x = (event.clientX - seen.left) * scale, y = (event.clientY - seen.top) * scale;
	const inX = x - view.left, inY = y - view.top;
	if (inX < 0 || inY < 0 || inX >= view.width || inY >= view.height)
		return { i: -1, x, y };
	const row = Math.floor((view.icicle ? inY : view.height - inY) / view.row);
	const at = model.x[view.zoomed] + inX / view.width * model.w[view.zoomed];
	return { i: frameAt(model, row, at), x, y };
}

function pointAt(app, event) {
	const { i, x, y } = frameUnder(app, event);
	app.pointer = i;
	app.root.classList.toggle('pointing', i >= 0);
	if (i < 0) {
		hideTip(app.tip);
		return;
	}
	const title = app.view.rects[i] && app.view.rects[i].querySelector('title');
	if (title) /* the details box says the same */
		title.remove();
	if (app.tip.shown !== i)
		say(app, summaryOf(app.model, i));
	showTip(app.view, app.tip, i, x, y);
}

function focusOn(app, i) {
	const { view } = app;
	view.focus = i;
	view.ring = true;
	drawRing(view);
	const place = placeOf(view, i);
	const left = Math.max(0, Math.min(place.left, view.width - 40));
	const top = view.top + rowTop(view, app.model.depth[i]);
	say(app, summaryOf(app.model, i));
	const seen = app.root.getBoundingClientRect();
	if (seen.top + top < 40 || seen.top + top > window.innerHeight - 40)
		window.scrollBy(0, seen.top + top - window.innerHeight / 2);
	showTip(view, app.tip, i, view.left + left, top + view.row);
}

/* Moves the focus as seen on the screen: a child is above its parent, in an icicle below. */
function moveFocus(app, key) {
	const { view, model } = app;
	const from = view.focus < 0 || !inSight(view, view.focus) ? view.zoomed : view.focus;
	if (view.focus !== from) {
		focusOn(app, from);
		return;
	}
	const toChild = (key === 'ArrowUp') !== view.icicle;
	let to = -1;
	if (key === 'ArrowLeft' || key === 'ArrowRight') {
		const row = model.rows[model.depth[from]];
		to = row[row.indexOf(from) + (key === 'ArrowRight' ? 1 : -1)];
	} else if (toChild) {
		const within = view.zoomed > from && view.zoomed < model.end[from] ? [view.zoomed] : childrenOf(model, from);
		to = within.reduce((widest, i) => widest < 0 || model.w[i] > model.w[widest] ? i : widest, -1);
		while (model.parent[to] > from)
			to = model.parent[to];
	} else if (from > 0) {
		to = model.parent[from];
	}
	if (to >= 0 && to !== undefined && inSight(view, to))
		focusOn(app, to);
}

function copyName(app) {
	const i = app.pointer >= 0 ? app.pointer : app.view.focus;
	if (i < 0)
		return;
	const name = nameOf(app.model, i);
	const done = () => say(app, `copied: ${name}`);
	const failed = () => say(app, `the browser does not let a page copy here: ${name}`);
	if (navigator.clipboard)
		navigator.clipboard.writeText(name).then(done, failed);
	else
		failed();
}

function leave(app) {
	if (app.helping)
		toggleHelp(app);
	else if (app.search) {
		setSearch(app, '');
		app.input.value = '';
		remember(app, true);
	} else if (app.view.zoomed > 0)
		zoomTo(app, 0);
	app.view.ring = false;
	drawRing(app.view);
	hideTip(app.tip);
}

function onKey(app, event) {
	const finding = event.key === '/' || ((event.ctrlKey || event.metaKey) && event.key === 'f');
	if (event.target === app.input)
		return;
	if (finding) {
		app.input.focus();
		app.input.select();
		event.preventDefault();
		return;
	}
	if (event.ctrlKey || event.metaKey || event.altKey)
		return;
	const acts = {
		Enter: () => app.view.focus >= 0 && zoomTo(app, app.view.focus),
		Escape: () => leave(app),
		'0': () => zoomTo(app, 0),
		n: () => nextMatch(app, 1),
		N: () => nextMatch(app, -1),
		i: () => turnOver(app),
		d: () => changeTheme(app),
		c: () => copyName(app),
		'?': () => toggleHelp(app),
	};
	if (event.key.startsWith('Arrow') && event.key.length > 5)
		acts[event.key] = () => moveFocus(app, event.key);
	if (!Object.prototype.hasOwnProperty.call(acts, event.key))
		return;
	if (event.key === 'Enter' && event.target.localName === 'button')
		return;
	acts[event.key]();
	event.preventDefault();
}

function listen(app) {
	const { root, input } = app;
	root.addEventListener('mousemove', event => pointAt(app, event));
	root.addEventListener('mouseleave', () => hideTip(app.tip));
	root.addEventListener('click', event => {
		const { i } = frameUnder(app, event);
		if (i < 0)
			return;
		app.view.focus = i;
		app.view.ring = false;
		zoomTo(app, i);
	});
	let waiting = 0;
	input.addEventListener('input', () => {
		clearTimeout(waiting);
		waiting = setTimeout(() => {
			setSearch(app, input.value);
			remember(app, false);
		}, 80);
	});
	input.addEventListener('keydown', event => {
		if (event.key === 'Escape' || event.key === 'Enter') {
			clearTimeout(waiting);
			setSearch(app, event.key === 'Enter' ? input.value : '');
			input.value = app.search;
			remember(app, true);
			input.blur();
			if (event.key === 'Enter')
				nextMatch(app, 1);
			event.preventDefault();
		}
		event.stopPropagation();
	});
	document.addEventListener('keydown', event => onKey(app, event));
	window.addEventListener('hashchange', () => followLink(app));
	window.addEventListener('resize', () => resize(app));
	window.addEventListener('scroll', () => followScroll(app), { passive: true });
	matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => nameButtons(app));
}

start();
