-- Workers: claim n, settle n as two requests. Jobs count when they are acked. A single job is acked by its
-- own route. Arguments: the queue, n.
local report = require("report")
claimed, acked, empty, failed = 0, 0, 0, 0
setup = report.setup
done = report.done({ "claimed", "acked", "empty", "failed" })

local settling, free = {}, 0
local n = 0
local claim

function init(args)
  n = tonumber(args[2])
  claim = report.post("/jobs/claim", '{"queues":["' .. args[1] .. '"],"limit":' .. n .. "}")
end

function request()
  if free == 0 then return claim end
  local settle = settling[free]
  settling[free] = nil
  free = free - 1
  return settle
end

local function settle(body)
  local acks = {}
  for id, token in body:gmatch('{"id":"([^"]+)".-"lease_token":"([^"]+)"') do
    acks[#acks + 1] = n == 1 and report.post("/jobs/" .. id .. "/ack", '{"lease_token":"' .. token .. '"}')
      or '{"id":"' .. id .. '","lease_token":"' .. token .. '"}'
  end
  if #acks == 0 then
    empty = empty + 1
    return
  end
  claimed = claimed + #acks
  free = free + 1
  settling[free] = n == 1 and acks[1] or report.post("/jobs/settle", '{"acks":[' .. table.concat(acks, ",") .. "]}")
end

function response(status, headers, body)
  if status ~= 200 then
    failed = failed + 1
  elseif body:sub(1, 8) == '{"jobs":' then
    settle(body)
  elseif body:sub(1, 8) == '{"acks":' then
    local _, ok = body:gsub('"status":200', "")
    acked = acked + ok
  elseif body:find('"state":"completed"', 1, true) then
    acked = acked + 1
  else
    failed = failed + 1
  end
end
