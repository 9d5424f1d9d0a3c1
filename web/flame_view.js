/*
 * What is drawn. The picture has an element for each frame; of these only the
 * ones in sight and wide enough to hold a letter are shown, under one transform, so
 * that the cost of a zoom grows with what is seen, not with the graph. All narrower frames are
 * drawn together, in one path for each colour. Labels, the lines
 * between frames and the marks of their kinds lie over them.
 */
const SVG = 'http://www.w3.org/2000/svg';
const HTML = 'http://www.w3.org/1999/xhtml';
const MARK_WIDTH = 4; /* px; narrower frames get no line and no mark, as in flame_palette.h */
const MARK_CORNER = 5;
const RECT_WIDTH = 12; /* px; narrower frames are drawn together */
const RUN_WIDTH = 1; /* px; frames that are narrower share a pixel with their neighbours */
const THIN_GAP = 0.25; /* px; a gap between narrow frames that is not drawn */
const LABEL_WIDTH = 22; /* px; room for two letters and an ellipsis */
const LABEL_SPACE = 4;
const MARK_NAMES = ['', 'k', 'i', 'j', 'n', ''];
const LEAST_WIDTH = 1000; /* px; room for title and controls */
const COLOUR = /^(rgb|#)/; /* no class, but a stretched scale's own colour */
/* The picture's x have three decimals: from this zoom on that shows. */
const PRECISE_FROM = 8;

function makeView(root, model) {
	const box = root.querySelector('#view');
	const view = {
		root, model, box,
		rest: root.querySelector('#frames'), /* frames that are not shown as elements of their own */
		frames: document.createElementNS(SVG, 'g'),
		labels: root.querySelector('#labels'),
		marks: root.querySelector('#marks'),
		hatch: hatchOfFrames(root),
		rects: [],
		looks: [], /* by frame: see lookOf() */
		classes: [], /* by frame: as the picture gave them */
		shown: new Map(), /* by frame of `frames`: its class now */
		thin: document.createElementNS(SVG, 'g'),
		row: model.data.row || 17,
		left: Number(box.getAttribute('x')) || 0,
		top: Number(box.getAttribute('y')) || 0,
		width: Number(box.getAttribute('width')),
		height: Number(box.getAttribute('height')),
		drawnWidth: model.data.width || Number(box.getAttribute('width')),
		drawnRootWidth: Number(root.getAttribute('width')),
		drawnHeight: Number(root.getAttribute('height')),
		drawnIcicle: Boolean(model.data.icicle),
		icicle: Boolean(model.data.icicle),
		zoomed: 0,
		focus: -1,
		ring: false,
		found: null, /* by frame: 1 where a search found it; null without a search */
	};
	for (const rect of view.rest.children)
		view.rects[Number(rect.getAttribute('data-i'))] = rect;
	view.rest.setAttribute('id', 'frames-rest');
	view.rest.setAttribute('display', 'none');
	view.frames.setAttribute('id', 'frames');
	view.frames.setAttribute('class', 'live');
	box.insertBefore(view.frames, view.rest);
	box.insertBefore(view.thin, view.frames);
	view.paths = {};
	for (const name of ['lines', 'k', 'i', 'j', 'n', 'found', 'ring'])
		view.paths[name] = markPath(view, name);
	view.letter = letterWidths(view);
	return view;
}

/* The frames' own copy, which zooming may stretch; the legend has the other one. */
function hatchOfFrames(root) {
	const hatch = root.querySelector('#hatch');
	if (!hatch)
		return null;
	const copy = hatch.cloneNode(true);
	copy.setAttribute('id', 'hatch-frames');
	hatch.parentNode.appendChild(copy);
	return copy;
}

/* The path that all marks of one kind are in; the picture may have brought it. */
function markPath(view, name) {
	const known = { lines: 'lines', found: 'found', ring: 'ring' }[name] || 'mark ' + name;
	for (const path of view.marks.children)
		if (path.getAttribute('class') === known)
			return path;
	const path = document.createElementNS(SVG, 'path');
	path.setAttribute('class', known);
	view.marks.appendChild(path);
	return path;
}

/* Measures letters once each; a label's width is their sum. */
function letterWidths(view) {
	const style = getComputedStyle(view.labels);
	const context = document.createElementNS(HTML, 'canvas').getContext('2d');
	context.font = `${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
	const widths = new Map();
	return letter => {
		let width = widths.get(letter);
		if (width === undefined) {
			width = context.measureText(letter).width;
			widths.set(letter, width);
		}
		return width;
	};
}

/* As much of the name as fits: first without arguments and template parameters, then cut. */
function fitted(view, name, room) {
	for (const text of [name, name.replace(/\([^()]*\)(?: const)?$/, '()'), shortened(name)]) {
		let width = 0;
		for (const letter of text) {
			width += view.letter(letter);
			if (width > room)
				break;
		}
		if (width <= room)
			return text;
	}
	const space = room - view.letter('\u2026');
	let kept = '', width = 0;
	for (const letter of shortened(name)) {
		width += view.letter(letter);
		if (width > space)
			return kept.length > 1 ? kept + '\u2026' : '';
		kept += letter;
	}
	return kept;
}

/* operator<, operator() and an unmatched bracket stay as they are. */
function shortened(name) {
	let text = name.replace(/\([^()]*\)(?: const)?$/, '');
	if (text === '' || text.includes('operator'))
		return name;
	for (let before = ''; before !== text;) {
		before = text;
		text = text.replace(/(\w)<[^<>]*>/g, '$1\u2039\u203a').replace(/\u2039\u203a(?=\u2039)/g, '');
	}
	return text.replace(/\u2039\u203a/g, '<>') || name;
}

function rowTop(view, depth) {
	return view.icicle ? depth * view.row : view.height - (depth + 1) * view.row;
}

/* Left edge and width in px of the view as it is zoomed now. */
function placeOf(view, i) {
	const { x, w } = view.model;
	const unit = view.width / (w[view.zoomed] || 1);
	return { left: (x[i] - x[view.zoomed]) * unit, width: w[i] * unit };
}

/* Calls visit(i, left, right, top) for each frame in sight of at least `least` px, cut to the view. */
function forEachInSight(view, least, visit) {
	const { model, zoomed } = view;
	const ancestors = [];
	for (let i = zoomed; i > 0; i = model.parent[i])
		ancestors.push(model.parent[i]);
	for (const i of ancestors.reverse())
		visit(i, 0, view.width, rowTop(view, model.depth[i]));
	const unit = view.width / (model.w[zoomed] || 1);
	for (let i = zoomed; i < model.end[zoomed];) {
		const width = model.w[i] * unit;
		if (width < least && i !== zoomed) {
			i = model.end[i];
			continue;
		}
		const left = (model.x[i] - model.x[zoomed]) * unit;
		visit(i, left, left + width, rowTop(view, model.depth[i]));
		i++;
	}
}

function draw(view) {
	placeFrames(view);
	showFrames(view);
	drawOver(view);
	drawFound(view);
	drawRing(view);
}

/*
 * A frame's colour: the class that gives it (the first of its classes), or with a
 * stretched scale the colour itself. A frame that only one side of a difference
 * has keeps its class for that.
 */
function lookOf(view, i) {
	if (view.looks[i] === undefined)
		readLook(view, i);
	return view.looks[i];
}

function classOf(view, i) {
	if (view.classes[i] === undefined)
		readLook(view, i);
	return view.classes[i];
}

function readLook(view, i) {
	const rect = view.rects[i];
	const classes = ((rect && rect.getAttribute('class')) || '').split(' ');
	view.looks[i] = (rect && rect.getAttribute('fill')) || classes[0];
	view.classes[i] = classes.join(' ');
}

function showFrames(view) {
	const drawing = view.zoomed === 0 ? wholeDrawing(view) : drawingOf(view);
	for (const i of view.shown.keys())
		if (!drawing.wanted.has(i) && view.rects[i])
			view.rest.appendChild(view.rects[i]);
	for (const [i, look] of drawing.wanted) {
		const rect = view.rects[i], now = view.shown.get(i);
		if (!rect || now === look)
			continue;
		rect.setAttribute('class', look);
		if (now === undefined)
			view.frames.appendChild(rect);
	}
	view.shown = drawing.wanted;
	if (view.thin !== drawing.thin) {
		view.thin.remove();
		view.box.insertBefore(drawing.thin, view.frames);
		view.thin = drawing.thin;
	}
	const turned = view.icicle !== view.drawnIcicle;
	view.thin.setAttribute('transform', turned ? `matrix(1 0 0 -1 0 ${view.height - 1})` : '');
}

/* The drawing of the whole graph is kept: it has the most to draw, and people return to it. */
function wholeDrawing(view) {
	const { whole } = view;
	if (whole && whole.width === view.width && whole.found === view.found)
		return whole;
	view.whole = Object.assign(drawingOf(view), { width: view.width, found: view.found });
	return view.whole;
}

/* The frames to be shown, with their classes, and what is drawn together. */
function drawingOf(view) {
	const { model, found } = view;
	const wanted = new Map();
	const thin = { runs: [], paths: new Map(), height: view.row - 1 };
	const from = model.depth[view.zoomed];
	forEachInSight(view, 0, (i, left, right) => {
		const dim = found && !found[i] ? ' dim' : '';
		if (right - left < RECT_WIDTH)
			addThin(view, thin, i, lookOf(view, i) + dim, left, right);
		else
			wanted.set(i, classOf(view, i) + (model.depth[i] < from ? ' above' : '') + dim);
	});
	for (const run of thin.runs)
		if (run)
			flushThin(thin, run);
	return { wanted, thin: groupOf(thin.paths) };
}

/* Frames that share a pixel are one run, coloured as its widest. */
function addThin(view, thin, i, look, left, right) {
	const depth = view.model.depth[i], width = right - left;
	const run = thin.runs[depth];
	if (run && left - run.right < THIN_GAP && right - run.left < RUN_WIDTH) {
		run.right = right;
		if (width > run.widest) {
			run.widest = width;
			run.look = look;
		}
		return;
	}
	if (run)
		flushThin(thin, run);
	const top = view.drawnIcicle ? depth * view.row : view.height - (depth + 1) * view.row;
	thin.runs[depth] = { left, right, top, look, widest: width };
}

function flushThin(thin, run) {
	let path = thin.paths.get(run.look);
	if (!path)
		thin.paths.set(run.look, path = []);
	const width = tenths(Math.max(0.2, run.right - run.left));
	path.push(`M${tenths(run.left)} ${run.top}h${width}v${thin.height}h-${width}z`);
}

function tenths(value) {
	return Math.round(10 * value) / 10;
}

function groupOf(paths) {
	const group = document.createElementNS(SVG, 'g');
	group.setAttribute('id', 'thin');
	for (const [look, parts] of paths) {
		const path = group.appendChild(document.createElementNS(SVG, 'path'));
		path.setAttribute('class', look);
		if (COLOUR.test(look))
			path.setAttribute('fill', look.replace(' dim', ''));
		path.setAttribute('d', parts.join(''));
	}
	return group;
}

function placeFrames(view) {
	const { model, zoomed } = view;
	const whole = model.w[0] || 1;
	const scale = whole / (model.w[zoomed] || 1) * (view.width / view.drawnWidth);
	const shift = -(model.x[zoomed] - model.x[0]) / whole * view.drawnWidth * scale;
	const flip = view.icicle !== view.drawnIcicle;
	if (scale > PRECISE_FROM)
		placeExactly(view);
	const turned = flip ? `-1 ${shift} ${view.height - 1}` : `1 ${shift} 0`;
	view.frames.setAttribute('transform', scale === 1 && !flip ? '' : `matrix(${scale} 0 0 ${turned})`);
	if (view.hatch) /* as wide as without a zoom */
		view.hatch.setAttribute('patternTransform', `scale(${1 / scale} 1) rotate(45)`);
}

/* Rewrites the edges of the frames in sight from the exact counts, once each. */
function placeExactly(view) {
	const { model } = view;
	const unit = view.drawnWidth / (model.w[0] || 1);
	forEachInSight(view, 0, i => {
		const rect = view.rects[i];
		if (!rect || rect.exact)
			return;
		rect.exact = true;
		rect.setAttribute('x', (model.x[i] - model.x[0]) * unit);
		rect.setAttribute('width', model.w[i] * unit);
	});
}

function drawOver(view) {
	const { model } = view;
	const paths = { lines: [], k: [], i: [], j: [], n: [] };
	const old = view.labels.children;
	const height = view.row - 1;
	let used = 0;
	forEachInSight(view, MARK_WIDTH, (i, left, right, top) => {
		if (left > 0)
			paths.lines.push(`M${left.toFixed(1)} ${top}v${height}`);
		addMark(paths, MARK_NAMES[model.frames.kind[i]], left, right, top, height);
		if (right - left < LABEL_WIDTH)
			return;
		const shown = fitted(view, nameOf(model, i), right - left - 2 * LABEL_SPACE);
		if (shown === '')
			return;
		const label = old[used] || view.labels.appendChild(document.createElementNS(SVG, 'text'));
		used++;
		label.setAttribute('x', (left + LABEL_SPACE).toFixed(1));
		label.setAttribute('y', top + view.row - 5);
		label.setAttribute('data-i', i);
		if (label.textContent !== shown)
			label.textContent = shown;
		const dim = view.found && !view.found[i] ? 'dim' : '';
		if ((label.getAttribute('class') || '') !== dim)
			label.setAttribute('class', dim);
	});
	while (view.labels.children.length > used)
		view.labels.lastElementChild.remove();
	for (const name of Object.keys(paths))
		view.paths[name].setAttribute('d', paths[name].join(''));
}

function addMark(paths, mark, left, right, top, height) {
	const corner = Math.min(MARK_CORNER, (right - left) / 2);
	const line = (right - left - 2).toFixed(1);
	if (mark === 'k')
		paths.k.push(`M${(right - corner).toFixed(1)} ${top}h${corner}v${corner}z`);
	else if (mark === 'j')
		paths.j.push(`M${left.toFixed(1)} ${top}h${corner}l${-corner} ${corner}z`);
	else if (mark === 'i')
		paths.i.push(`M${(left + 1).toFixed(1)} ${top + height - 1}h${line}`);
	else if (mark === 'n')
		paths.n.push(`M${(left + 1).toFixed(1)} ${top + 1}h${line}`);
}

/* A line around each match that is wide enough for one; the others are dimmed. */
function drawFound(view) {
	const path = [];
	if (view.found)
		forEachInSight(view, 2, (i, left, right, top) => {
			if (view.found[i])
				path.push(`M${(left + 0.5).toFixed(1)} ${top + 0.5}h${(right - left - 1).toFixed(1)}` +
					`v${view.row - 2}h${(left - right + 1).toFixed(1)}z`);
		});
	view.paths.found.setAttribute('d', path.join(''));
}

/* hits: the frames that a search found; null ends it. */
function markFound(view, hits) {
	view.found = hits ? new Uint8Array(view.model.count) : null;
	for (const i of hits || [])
		view.found[i] = 1;
	showFrames(view);
	drawOver(view);
	drawFound(view);
}

/* A line around the frame that the keyboard is on. */
function drawRing(view) {
	if (view.focus < 0 || !view.ring) {
		view.paths.ring.setAttribute('d', '');
		return;
	}
	const place = placeOf(view, view.focus);
	const left = Math.max(1, Math.min(place.left, view.width - 3));
	const right = Math.max(left + 2, Math.min(place.left + place.width, view.width - 1));
	const top = rowTop(view, view.model.depth[view.focus]);
	view.paths.ring.setAttribute('d', `M${left} ${top}h${right - left}v${view.row - 1}H${left}z`);
}

/* Fills the window; the legend and the title stay where they are. */
function fitWindow(view, wide, high) {
	const width = Math.max(LEAST_WIDTH, view.drawnRootWidth, Math.floor(wide));
	const height = Math.max(view.drawnHeight, Math.floor(high)); /* the details box needs room */
	view.root.setAttribute('width', width);
	view.root.setAttribute('height', height);
	view.root.setAttribute('viewBox', `0 0 ${width} ${height}`);
	view.width = width - 2 * view.left;
	view.box.setAttribute('width', view.width);
}
