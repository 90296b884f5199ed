// What builds of mujs are trained with: recursion, arrays, strings, regular expressions.
var size = +scriptArgs[0];

function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

function sorted(n) {
  var a = [];
  for (var i = 0; i < n; i++) a.push((i * 7919) % 1009);
  a.sort(function (x, y) { return x - y; });
  return a[n >> 1];
}

function words(n) {
  var count = {}, text = "the quick brown fox jumps over the lazy dog", sum = 0;
  for (var i = 0; i < n; i++)
    text.split(" ").forEach(function (w) {
      if (/^[a-m]/.test(w)) w = w.toUpperCase();
      count[w] = (count[w] || 0) + 1;
    });
  for (var w in count) sum += count[w] * w.length;
  return sum;
}

function Point(x, y) { this.x = x; this.y = y; }
Point.prototype.add = function (p) { return new Point(this.x + p.x, this.y + p.y); };

function added(n) {
  var p = new Point(0, 0);
  for (var i = 0; i < n; i++) p = p.add(new Point(i, 2));
  return p.x + p.y;
}

for (var i = 0; i < size; i++) print(fib(12), sorted(150), words(20), added(300));
