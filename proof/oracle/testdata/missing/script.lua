local function fib(n) if n<2 then return n end return fib(n-1)+fib(n-2) end
local t={} for i=1,40 do t[i]=(i*7919)%101 end
table.sort(t,function(a,b) return a<b end)
local ok,e=pcall(function() local s="" for w in string.gmatch("the quick brown fox jumps","%a+") do s=s..w:upper():sub(1,2) end error(s) end)
local co=coroutine.wrap(function(a) for i=1,5 do a=coroutine.yield(a*i) end return a end)
local x=0 for i=1,4 do x=x+co(i) end
local mt=setmetatable({},{__index=function(_,k) return k*2 end,__add=function(a,b) return 3 end})
for i=1,30 do x=x+mt[i] end
print(fib(11),t[3],e,x,mt+mt,string.format("%5.2f %s",3.14159,("ab"):rep(3,"-")))
