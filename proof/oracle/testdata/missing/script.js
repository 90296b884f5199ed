function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
function Shape(w, h) { this.w = w; this.h = h; }
Shape.prototype = { area: function () { return this.w * this.h; }, toString: function () { return 'shape ' + this.area(); } };
Object.defineProperty(Shape.prototype, 'double', { get: function () { return 2 * this.area(); } });
var list = [];
for (var i = 0; i < 60; i++) list.push((i * 7919) % 101);
list.sort(function (a, b) { return a - b; });
var text = JSON.stringify({ list: list.map(function (x) { return { x: x, s: 'n' + x }; }) });
var back = JSON.parse(text, function (k, v) { return typeof v === 'number' ? v + 1 : v; });
var words = 'the quick brown fox jumps over the lazy dog'.replace(/(\w)(\w*)/g, function (m, a, b) { return a.toUpperCase() + b; });
var proxy = new Proxy({}, { get: function (t, k) { return k + '!'; } });
var sum = 0;
for (var k in back.list) sum += back.list[k].x;
try { null.x; } catch (e) { sum += String(e).length; }
var o = { valueOf: function () { return 42; } };
print([fib(12), new Shape(3, 4), new Shape(1, 2).double, words, proxy.hello, sum, o + 1, text.length, encodeURIComponent('ä b')].join());
