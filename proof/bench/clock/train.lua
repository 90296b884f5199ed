-- What builds of Lua are trained with: recursion, sorting, patterns, coroutines, metatables.
local size = tonumber(arg[1])

local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end

local function sorted(n)
  local t = {}
  for i = 1, n do t[i] = (i * 7919) % 10007 end
  table.sort(t, function(a, b) return a < b end)
  return t[n // 2]
end

local function words(n)
  local count, text = {}, "the quick brown fox jumps over the lazy dog, and then the dog sleeps"
  for _ = 1, n do
    for w in text:gmatch("%a+") do
      w = w:upper():sub(1, 3)
      count[w] = (count[w] or 0) + 1
    end
  end
  return count.THE
end

local function yielded(n)
  local sum, each = 0, coroutine.wrap(function(a) while true do a = coroutine.yield(a * 3 % 7) end end)
  for i = 1, n do sum = sum + each(i) end
  return sum
end

local vector = {}
vector.__index = vector
vector.__add = function(a, b) return setmetatable({x = a.x + b.x, y = a.y + b.y}, vector) end
function vector:length() return math.sqrt(self.x * self.x + self.y * self.y) end

local function added(n)
  local v = setmetatable({x = 0, y = 0}, vector)
  for i = 1, n do v = v + setmetatable({x = i, y = 1 / i}, vector) end
  return v:length()
end

for _ = 1, size do
  print(fib(18), sorted(600), words(60), yielded(1200), string.format("%.6f", added(1500)))
end
