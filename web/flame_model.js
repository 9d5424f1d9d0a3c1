/*
 * The graph as data: the tree of frames that the picture carries, where each
 * frame lies, what a search finds, and numbers as people read them. Nothing
 * here touches the page.
 *
 * The files web/flame_*.js are one program: tools/embed joins them in the order
 * that src/render/meson.build names and wraps them in a function of their own.
 */

/* Frames are numbered depth first, so a frame's descendants are i + 1 .. end[i] - 1. */
function makeModel(data) {
	const frames = data.frames;
	const count = frames.parent.length;
	const parent = frames.parent;
	const depth = new Int32Array(count);
	const end = new Int32Array(count);
	const rows = [];
	for (let i = 0; i < count; i++) {
		depth[i] = i > 0 ? depth[parent[i]] + 1 : 0;
		end[i] = i + 1;
		if (depth[i] === rows.length)
			rows.push([]);
		rows[depth[i]].push(i);
	}
	for (let i = count - 1; i > 0; i--)
		if (end[parent[i]] < end[i])
			end[parent[i]] = end[i];
	return { data, frames, count, parent, depth, end, rows, x: frames.x, w: frames.w };
}

function textOf(model, index) {
	return index === null || index === undefined || index < 0 ? '' : model.data.strings[index];
}

function nameOf(model, i) {
	return textOf(model, model.frames.name[i]);
}

function childrenOf(model, i) {
	const children = [];
	for (let child = i + 1; child < model.end[i]; child = model.end[child])
		children.push(child);
	return children;
}

/* The frame of that row at a place in units of the width event, or -1. */
function frameAt(model, row, at) {
	const list = model.rows[row];
	if (!list)
		return -1;
	let low = 0, high = list.length;
	while (high - low > 1) {
		const middle = (low + high) >> 1;
		if (model.x[list[middle]] <= at)
			low = middle;
		else
			high = middle;
	}
	const i = list[low];
	return at >= model.x[i] && at < model.x[i] + model.w[i] ? i : -1;
}

/*
 * A frame's address in a link: the names from below the root on, each encoded,
 * joined by ';'. The second of two siblings of one name has '~1' after it.
 */
function linkOf(model, i) {
	const parts = [];
	for (; i > 0; i = model.parent[i]) {
		const name = model.frames.name[i];
		let same = 0;
		for (let child = model.parent[i] + 1; child < i; child = model.end[child])
			same += model.frames.name[child] === name;
		parts.push(encodeName(nameOf(model, i)) + (same ? '~' + same : ''));
	}
	return parts.reverse().join(';');
}

function encodeName(name) {
	/* a lone surrogate has no encoding */
	return encodeURIComponent(name.replace(/[\ud800-\udfff]/gu, '\ufffd')).replace(/~/g, '%7E');
}

/* The frame at that address; -1 when this graph has none. */
function frameOfLink(model, link) {
	let i = 0;
	for (const part of link.split(';')) {
		if (part === '')
			continue;
		const match = /^(.*?)(?:~(\d+))?$/.exec(part);
		let left = match[2] ? Number(match[2]) : 0;
		const found = childrenOf(model, i).find(
			child => encodeName(nameOf(model, child)) === match[1] && left-- === 0);
		if (found === undefined)
			return -1;
		i = found;
	}
	return i;
}

/* Small letters match both cases; /.../ is a regular expression. null: not a valid one. */
function matcherOf(text) {
	const expression = /^\/(.+)\/$/.exec(text);
	const flags = text === text.toLowerCase() ? 'i' : '';
	if (expression) {
		try {
			const compiled = new RegExp(expression[1], flags);
			return name => compiled.test(name);
		} catch (error) {
			return null;
		}
	}
	return flags ? name => name.toLowerCase().includes(text) : name => name.includes(text);
}

/* The frames that match, in order, and the topmost of them within `inside`: what is below a match
 * is a part of it, so only these add up. */
function searchIn(model, matches, inside) {
	const known = new Map();
	const hits = [], tops = [];
	let covered = 0;
	for (let i = 0; i < model.count; i++) {
		const name = model.frames.name[i];
		if (!known.has(name))
			known.set(name, matches(textOf(model, name)));
		if (!known.get(name))
			continue;
		hits.push(i);
		if (i < covered)
			continue;
		if (i < inside && inside < model.end[i])
			tops.push(inside);
		else if (i >= inside && i < model.end[inside])
			tops.push(i);
		covered = model.end[i];
	}
	return { hits, tops };
}

/* Sum of the width event over these frames; `sides` are frames, or frames.before. */
function sumOf(model, sides, list) {
	const column = sides.total[model.data.width_event];
	return list.reduce((sum, i) => sum + column[i], 0);
}

/* 18904.5 of scale 1 is stored as 189045; thousands are set apart by narrow spaces. */
function countText(value, scale) {
	if (value === null || value === undefined)
		return '-';
	const text = Math.abs(value / Math.pow(10, scale || 0)).toFixed(scale || 0);
	const [whole, rest] = text.split('.');
	return (value < 0 ? '\u2212' : '') + whole.replace(/\B(?=(\d{3})+$)/g, '\u202f') + (rest ? '.' + rest : '');
}

function signedText(value, scale) {
	return value > 0 ? '+' + countText(value, scale) : countText(value, scale);
}

function percentText(part, whole, signed) {
	if (part === null || part === undefined || !whole)
		return '-';
	const percent = 100 * part / whole;
	const size = Math.abs(percent);
	if (size > 0 && size < 0.01)
		return (percent < 0 ? '\u2212' : signed ? '+' : '') + '<0.01\u202f%';
	/* 100 % only when it is all */
	const shown = size < 100 && size > 99.99 ? 99.99 : size;
	const text = shown.toFixed(signed || shown % 100 ? 2 : 0) + '\u202f%';
	return percent < 0 ? '\u2212' + text : signed && percent > 0 ? '+' + text : text;
}

function ratioText(value, percent) {
	if (value === null || value === undefined)
		return '-';
	if (percent)
		return (100 * value).toFixed(1) + '\u202f%';
	return value >= 100 ? value.toFixed(0) : value >= 0.1 ? value.toFixed(2) : value.toPrecision(3);
}
