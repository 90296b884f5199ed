-- What builds of Lua are measured with: queens, tables, formatting, closures, objects, gsub.
local size = tonumber(arg[1])

local function queens(n)
  local solutions, row, left, right = 0, {}, {}, {}
  local function place(k)
    if k > n then solutions = solutions + 1 return end
    for c = 1, n do
      if not row[c] and not left[k + c] and not right[k - c + n] then
        row[c], left[k + c], right[k - c + n] = true, true, true
        place(k + 1)
        row[c], left[k + c], right[k - c + n] = nil, nil, nil
      end
    end
  end
  place(1)
  return solutions
end

local function joined(n)
  local parts = {}
  for i = 1, n do parts[#parts + 1] = string.format("%05d:%s;%g", i, ("ab"):rep(i % 5), i / 8) end
  local s = table.concat(parts, ",")
  return #s:gsub("(%d+):(%a*)", "%2=%1")
end

local Account = {}
Account.__index = Account
function Account.new() return setmetatable({balance = 0, log = {}}, Account) end
function Account:deposit(v) self.balance = self.balance + v; self.log[#self.log + 1] = v end

local function accounts(n)
  local all, sum = {}, 0
  for i = 1, n do
    local a = Account.new()
    for k = 1, 5 do a:deposit((i * k) % 13) end
    all["account" .. i] = a
  end
  for _, a in pairs(all) do sum = sum + a.balance end
  return sum
end

local function composed(n)
  local f = function(x) return x end
  for i = 1, 40 do local g = f; f = function(x) return (g(x) + i) % 1009 end end
  local sum = 0
  for i = 1, n do sum = sum + f(i) end
  return sum
end

for _ = 1, size do
  print(queens(6), joined(500), accounts(300), composed(200))
end
