// What builds of mujs are measured with: sieve, queens, JSON, closures, replacements.
var size = +scriptArgs[0];

function sieve(n) {
  var composite = [], count = 0;
  for (var i = 2; i < n; i++) {
    if (composite[i]) continue;
    count++;
    for (var k = i * i; k < n; k += i) composite[k] = true;
  }
  return count;
}

function queens(n, row, columns, left, right) {
  if (row === n) return 1;
  var sum = 0;
  for (var c = 0; c < n; c++) {
    var bit = 1 << c, l = 1 << (row + c), r = 1 << (row - c + n);
    if (columns & bit || left & l || right & r) continue;
    sum += queens(n, row + 1, columns | bit, left | l, right | r);
  }
  return sum;
}

function copied(n) {
  var all = [];
  for (var i = 0; i < n; i++) all.push({name: "item " + i, price: i / 4, tags: ["a" + i % 3, "b"]});
  var again = JSON.parse(JSON.stringify(all));
  return again.map(function (x) { return x.price; }).reduce(function (a, b) { return a + b; }, 0);
}

function replaced(n) {
  var s = "";
  for (var i = 0; i < n; i++) s += "key" + i + "=value" + (i * i) + "&";
  return s.replace(/(\w+)=(\w+)/g, function (_, k, v) { return v + ":" + k; }).length;
}

for (var i = 0; i < size; i++) print(sieve(900), queens(5, 0, 0, 0, 0), copied(40), replaced(40));
