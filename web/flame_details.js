/*
 * The details of one frame: every event's self and total counts as they were
 * estimated, the ratio with its interval, and in a differential graph both sides
 * and every percentage by its name. Text goes in as text, never as markup.
 */
const KINDS = ['user code', 'kernel', 'inlined', 'JIT code', 'unknown', 'known by name alone', 'no code'];
const EVENTS_MOST = 3; /* in a differential graph: both sides of more do not fit beside each other */

function element(name, className, text) {
	const made = document.createElementNS(HTML, name);
	if (className)
		made.setAttribute('class', className);
	if (text !== undefined)
		made.textContent = text;
	return made;
}

function tableRow(cells, kind) {
	const row = element('tr', kind);
	cells.forEach((cell, at) => row.appendChild(element(at ? 'td' : 'th', '', cell)));
	return row;
}

function columnsOf(sides, event, i) {
	const pick = name => sides && sides[name] && sides[name][event] ? sides[name][event][i] : null;
	return { self: pick('self'), total: pick('total'), samples: pick('samples') };
}

/* One line, for the status row, which screen readers read out. */
function summaryOf(model, i) {
	const event = model.data.events[model.data.width_event];
	const image = textOf(model, model.frames.image[i]);
	const parts = [nameOf(model, i) + (image ? ` (${image})` : '')];
	const { total } = columnsOf(model.frames, model.data.width_event, i);
	const { change } = model.frames;
	if (change)
		parts.push(change.value[i] === null ? 'new' : `${event.name} ${percentText(change.value[i] - 1, 1, true)} against before`);
	parts.push(`${percentText(total, event.total)} of ${event.name}${change ? ' after' : ''}`);
	if (hasRatio(model, i))
		parts.push(ratioLine(model, i));
	return parts.join(', ');
}

function hasRatio(model, i) {
	const { ratio } = model.data;
	return Boolean(ratio) && model.frames.ratio && model.frames.ratio[i] !== null && model.frames.ratio[i] !== undefined;
}

function ratioLine(model, i) {
	const { ratio, low, high } = model.frames;
	const { name, percent } = model.data.ratio;
	let text = `${name} ${ratioText(ratio[i], percent)}`;
	if (low && low[i] !== null && high[i] !== null && low[i] !== undefined)
		text += ` (95\u202f%: ${ratioText(low[i], percent)} to ${ratioText(high[i], percent)})`;
	return text;
}

function detailsOf(model, i, className) {
	const all = element('div', 'tip-text');
	all.appendChild(element('div', 'tip-name', nameOf(model, i)));
	const { frames } = model;
	const image = textOf(model, frames.image[i]), source = frames.source ? textOf(model, frames.source[i]) : '';
	const where = [KINDS[frames.kind[i]] || KINDS[4]];
	if (image)
		where.push(image);
	if (source)
		where.push('name from ' + source);
	all.appendChild(element('div', 'tip-where', where.join(' \u00b7 ')));
	if (model.data.diff)
		addDifference(all, model, i);
	else
		addCounts(all, model, i);
	if (hasRatio(model, i)) {
		const line = element('div', 'tip-ratio', ratioLine(model, i));
		if (className === 'ns')
			line.textContent += ': too few samples to colour';
		all.appendChild(line);
	}
	return all;
}

/* With the unit where the name does not say what is counted: "cpu-clock (ns)". */
function titleOf(event) {
	const plain = !event.unit || event.unit === 'events' || event.name.startsWith(event.unit);
	return plain ? event.name : `${event.name} (${event.unit})`;
}

function addCounts(all, model, i) {
	const table = element('table');
	table.appendChild(tableRow(['', 'self', 'total', 'of all', 'samples'], 'head'));
	model.data.events.forEach((event, at) => {
		const { self, total, samples } = columnsOf(model.frames, at, i);
		table.appendChild(tableRow([titleOf(event), countText(self, event.scale), countText(total, event.scale),
			percentText(total, event.total), countText(samples)]));
	});
	all.appendChild(table);
}

/*
 * Both percentages that are usual in differential flame graphs, each by its
 * name: the change against before, and FlameGraph's, which is of the total after.
 * Counts before are multiplied with the comparison's factor first.
 */
function addDifference(all, model, i) {
	const { diff, events } = model.data;
	const shown = events.slice(0, EVENTS_MOST);
	const columns = [];
	shown.forEach((event, at) => {
		const after = columnsOf(model.frames, at, i), before = columnsOf(model.frames.before, at, i);
		const whole = { before: diff.total ? diff.total[at] : null, after: event.total };
		for (const key of ['total', 'self'])
			columns.push(differenceColumn(`${titleOf(event)} ${key}`, before[key], after[key], whole, factorOf(diff, at), event.scale));
		columns[columns.length - 2].push(pairText(before.samples, after.samples));
		columns[columns.length - 1].push('');
	});
	const names = ['', 'before', 'before, scaled', 'after', 'difference', 'change against before', 'share of total before',
		'share of total after', 'global: difference / total after', 'samples before, after'];
	const scaled = shown.some((event, at) => factorOf(diff, at) !== 1);
	const table = element('table');
	names.forEach((name, row) => {
		const cells = columns.map(column => column[row]);
		const needed = row === 2 ? scaled : row < names.length - 1 || cells.some(cell => /\d/.test(cell));
		if (needed)
			table.appendChild(tableRow([name, ...cells], row ? '' : 'head'));
	});
	all.appendChild(table);
	addChange(all, model, i);
	if (diff.said)
		all.appendChild(element('div', 'tip-where', diff.said));
}

function factorOf(diff, at) {
	return diff.factor ? diff.factor[at] : 1;
}

function differenceColumn(title, before, after, whole, factor, scale) {
	const compared = before === null || factor === null ? null : before * factor;
	const change = compared === null || after === null ? null : after - compared;
	return [title, countText(before, scale), countText(round(compared), scale), countText(after, scale),
		signedText(round(change), scale), compared === 0 && after > 0 ? 'new' : percentText(change, compared, true),
		percentText(before, whole.before), percentText(after, whole.after), percentText(change, whole.after, true)];
}

function round(value) {
	return value === null ? null : Math.round(value);
}

function pairText(before, after) {
	return before === null && after === null ? '-' : `${countText(before)}, ${countText(after)}`;
}

/* The change of the width event with its interval, and its parts by instructions and by CPI. */
function addChange(all, model, i) {
	const { change } = model.frames;
	if (!change)
		return;
	const part = name => change[name] && change[name][i] !== undefined ? change[name][i] : null;
	const event = model.data.events[model.data.width_event];
	const percent = name => part(name) === null ? '-' : percentText(part(name) - 1, 1, true);
	if (part('value') !== null) {
		let text = `change of ${event.name}: ${percent('value')}`;
		if (part('low') !== null && part('high') !== null)
			text += ` (95\u202f%: ${percent('low')} to ${percent('high')})`;
		if (part('significant') === 0 || part('significant') === false)
			text += ', not significant';
		all.appendChild(element('div', 'tip-ratio', text));
	}
	if (part('instructions') !== null && part('cpi') !== null)
		all.appendChild(element('div', 'tip-ratio', `of the difference ${signedText(Math.round(part('instructions')), event.scale)} by ` +
			`instructions, ${signedText(Math.round(part('cpi')), event.scale)} by CPI`));
}

/* A box beside the pointer, or beside the frame that the keyboard is on. */
function makeTip(view) {
	const place = document.createElementNS(SVG, 'foreignObject');
	place.setAttribute('id', 'tip');
	place.setAttribute('width', 1);
	place.setAttribute('height', 1);
	const box = element('div', 'tip');
	place.appendChild(box);
	view.root.appendChild(place);
	return { place, box, shown: -1 };
}

function hideTip(tip) {
	tip.shown = -1;
	tip.box.classList.remove('shown');
}

function showTip(view, tip, i, x, y) {
	if (tip.shown !== i) {
		tip.shown = i;
		const className = lookOf(view, i);
		tip.box.replaceChildren(detailsOf(view.model, i, className));
		tip.box.classList.add('shown');
	}
	const width = Number(view.root.getAttribute('width'));
	const { offsetWidth, offsetHeight } = tip.box;
	const seen = view.root.getBoundingClientRect();
	const left = x + 14 + offsetWidth < width - 4 ? x + 14 : Math.max(4, x - 14 - offsetWidth);
	const lowest = Math.min(Number(view.root.getAttribute('height')), window.innerHeight - seen.top) - 4;
	const highest = Math.max(0, -seen.top) + 4;
	const top = y + 18 + offsetHeight < lowest ? y + 18 : y - 12 - offsetHeight;
	tip.place.setAttribute('x', left);
	tip.place.setAttribute('y', Math.max(highest, top));
}
