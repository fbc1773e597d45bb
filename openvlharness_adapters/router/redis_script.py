"""What happens to the seats of one group inside Redis, as one script: nobody ever sees half of it.

Redis' own time is the only one. A holder is a ticket's name with the time at which it ends unless it is renewed; a waiter
is a name with its ticket's number. Numbers grow with the time, so they keep their order even when Redis came back empty and
those who waited before bring theirs along. For one lease after that nobody new gets a seat: whoever worked all the while
comes back first.
"""

from __future__ import annotations

SEATS = """
local holders, waiters, processes, last, born = unpack(KEYS)
local act, me, channels, group = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local limit, most, lease = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
local time = redis.call('TIME')
local micros = tonumber(time[1]) * 1000000 + tonumber(time[2])
local now = math.floor(micros / 1000)
local function text(number) return string.format('%.0f', number) end

redis.call('SET', born, text(now), 'NX')
local opens = tonumber(redis.call('GET', born)) + lease
redis.call('ZADD', processes, text(now + lease), me)

local function owner(name) return string.match(name, '^[^:]*') end
local function hold(name) redis.call('ZADD', holders, text(now + lease), name) end

local function sweep()
  redis.call('ZREMRANGEBYSCORE', holders, '-inf', text(now))
  if redis.call('ZREMRANGEBYSCORE', processes, '-inf', text(now)) > 0 then
    for _, name in ipairs(redis.call('ZRANGE', waiters, 0, -1)) do
      if not redis.call('ZSCORE', processes, owner(name)) then redis.call('ZREM', waiters, name) end
    end
  end
end

-- Free seats to the oldest waiters whose process listens; `asking` reads it in the reply and needs no message.
local function grant(asking)
  local free = limit - redis.call('ZCARD', holders)
  if now < opens or free <= 0 then return end
  for _, name in ipairs(redis.call('ZRANGE', waiters, 0, -1)) do
    if free <= 0 then return end
    if name == asking or redis.call('PUBLISH', channels .. owner(name), 'seat ' .. group .. ' ' .. name) > 0 then
      redis.call('ZREM', waiters, name)
      hold(name)
      free = free - 1
    end
  end
end

-- In how many milliseconds something happens that nobody reports: a silent holder ends, or the first lease is over.
local function due()
  if redis.call('ZCARD', waiters) == 0 then return lease end
  local soonest = math.max(opens - now, 0)
  if soonest == 0 then
    local first = redis.call('ZRANGE', holders, 0, 0, 'WITHSCORES')
    soonest = first[2] and tonumber(first[2]) - now or lease
  end
  return math.max(1, math.min(lease, soonest))
end

local function draw()
  local number = math.max(tonumber(redis.call('GET', last) or '0') + 1, micros)
  redis.call('SET', last, text(number))
  return text(number)
end

if act == 'take' then
  local name = ARGV[8]
  sweep()
  if redis.call('ZSCORE', holders, name) then return {'held', '', due()} end
  local number = redis.call('ZSCORE', waiters, name)
  if number then number = text(tonumber(number)) else
    number = draw()
    redis.call('ZADD', waiters, number, name)
  end
  grant(name)
  if redis.call('ZSCORE', holders, name) then return {'held', number, due()} end
  local waiting = redis.call('ZCARD', waiters)
  if waiting > most then
    redis.call('ZREM', waiters, name)
    return {'full', waiting - 1, due()}
  end
  return {'waiting', number, due()}
end

if act == 'leave' then
  redis.call('ZREM', holders, ARGV[8])
  redis.call('ZREM', waiters, ARGV[8])
  sweep()
  grant('')
  return {due()}
end

-- 'keep': ARGV[8] is 'all' when the rest names everything of this process; then come pairs of a name, and the number of
-- its ticket if it waits, '' if it holds a seat.
local known, states = {}, {}
for at = 9, #ARGV, 2 do
  known[ARGV[at]] = true
  -- Nobody was given what has not been swept, so a lease that is over may still be renewed.
  if redis.call('ZSCORE', holders, ARGV[at]) then hold(ARGV[at]) end
end
if ARGV[8] == 'all' then
  for _, key in ipairs({holders, waiters}) do
    for _, name in ipairs(redis.call('ZRANGE', key, 0, -1)) do
      if owner(name) == me and not known[name] then redis.call('ZREM', key, name) end
    end
  end
end
sweep()
for at = 9, #ARGV, 2 do
  local name, number = ARGV[at], ARGV[at + 1]
  if not redis.call('ZSCORE', holders, name) then
    if number ~= '' then
      redis.call('ZADD', waiters, number, name)
    elseif redis.call('ZCARD', holders) < limit then
      hold(name)
    end
  end
end
grant('')
for at = 9, #ARGV, 2 do
  local name = ARGV[at]
  if redis.call('ZSCORE', holders, name) then states[#states + 1] = 'held'
  elseif redis.call('ZSCORE', waiters, name) then states[#states + 1] = 'waiting'
  else states[#states + 1] = 'lost' end
end
return {due(), states}
"""

CALLS = """
-- KEYS: when Redis began, answers that are kept by the time at which they are dropped, the bytes of all of them.
local born, kept, total = unpack(KEYS)
local act, me, channels, lease = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local time = redis.call('TIME')
local now = math.floor((tonumber(time[1]) * 1000000 + tonumber(time[2])) / 1000)
local function text(number) return string.format('%.0f', number) end
redis.call('SET', born, text(now), 'NX')
local opens = tonumber(redis.call('GET', born)) + lease

local function owner(claim) return string.match(claim, '^[^:]*') end

-- A kept answer is listed as its size and the name of its call.
local function drop(entry)
  local size, call = string.match(entry, '^(%d+) (.*)$')
  redis.call('ZREM', kept, entry)
  redis.call('DECRBY', total, size)
  redis.call('DEL', call)
end
for _, entry in ipairs(redis.call('ZRANGEBYSCORE', kept, '-inf', text(now))) do drop(entry) end

if act == 'claim' then
  local call, claim, digest = ARGV[5], ARGV[6], ARGV[7]
  local found = redis.call('HMGET', call, 'digest', 'claim', 'status', 'outcome', 'media', 'body')
  if not found[1] then
    if now < opens then return {'wait', opens - now} end
    redis.call('HSET', call, 'digest', digest, 'claim', claim)
    redis.call('PEXPIRE', call, lease)
    return {'yours'}
  end
  if found[1] ~= digest then return {'other'} end
  if found[3] then return {'done', found[3], found[4], found[5], found[6]} end
  if found[2] == claim then return {'yours'} end
  redis.call('HSET', call, 'to ' .. me, '1')
  return {'wait', math.max(1, redis.call('PTTL', call))}
end

if act == 'keep' then
  for at = 5, #ARGV, 3 do
    local call, claim, digest = ARGV[at], ARGV[at + 1], ARGV[at + 2]
    if redis.call('EXISTS', call) == 0 then redis.call('HSET', call, 'digest', digest, 'claim', claim) end
    local found = redis.call('HMGET', call, 'claim', 'status')
    if found[1] == claim and not found[2] then redis.call('PEXPIRE', call, lease) end
  end
  return {}
end

-- 'end': with an answer it is kept; without one the key is anybody's again. Whoever waits for either is told.
local call, claim, digest, status = ARGV[5], ARGV[6], ARGV[7], ARGV[8]
local found = redis.call('HMGET', call, 'claim', 'status')
if (found[1] and found[1] ~= claim) or found[2] then return {} end
local joined = {}
for _, field in ipairs(redis.call('HKEYS', call)) do
  local name = string.match(field, '^to (.*)$')
  if name then joined[#joined + 1] = name end
end
if status == '' then
  redis.call('DEL', call)
else
  local body, seconds, most = ARGV[11], tonumber(ARGV[12]), tonumber(ARGV[13])
  redis.call('HSET', call, 'digest', digest, 'claim', claim, 'status', status, 'outcome', ARGV[9], 'media', ARGV[10],
    'body', body)
  if #body <= most then
    redis.call('PEXPIRE', call, text(seconds * 1000))
    redis.call('ZADD', kept, text(now + seconds * 1000), text(#body) .. ' ' .. call)
    redis.call('INCRBY', total, text(#body))
    while tonumber(redis.call('GET', total)) > most do drop(redis.call('ZRANGE', kept, 0, 0)[1]) end
  elseif #joined > 0 then
    redis.call('PEXPIRE', call, lease)
  else
    redis.call('DEL', call)
  end
end
for _, name in ipairs(joined) do redis.call('PUBLISH', channels .. name, 'call ' .. call) end
return {}
"""
