-- The cycle in batches: enqueue n, claim n, ack n as three requests; jobs count when they are acked.
-- Arguments: the queue, the job, n.
local report = require("report")
enqueued, claimed, acked, short, failed = 0, 0, 0, 0, 0
setup = report.setup
done = report.done({ "enqueued", "claimed", "acked", "short", "failed" })

local settling, free = {}, 0
local turn, n = 0, 0
local enqueue, claim

function init(args)
  n = tonumber(args[3])
  local jobs = {}
  for i = 1, n do jobs[i] = args[2] end
  enqueue = report.post("/jobs/batch", '{"jobs":[' .. table.concat(jobs, ",") .. "]}")
  claim = report.post("/jobs/claim", '{"queues":["' .. args[1] .. '"],"limit":' .. n .. "}")
end

function request()
  if free > 0 then
    local settle = settling[free]
    settling[free] = nil
    free = free - 1
    return settle
  end
  turn = turn + 1
  if turn % 2 == 0 then return claim end
  return enqueue
end

function response(status, headers, body)
  if status == 201 then
    enqueued = enqueued + n
  elseif status ~= 200 then
    failed = failed + 1
  elseif body:sub(1, 8) == '{"jobs":' then
    local acks = {}
    for id, token in body:gmatch('{"id":"([^"]+)".-"lease_token":"([^"]+)"') do
      acks[#acks + 1] = '{"id":"' .. id .. '","lease_token":"' .. token .. '"}'
    end
    claimed = claimed + #acks
    if #acks < n then short = short + 1 end
    if #acks > 0 then
      free = free + 1
      settling[free] = report.post("/jobs/settle", '{"acks":[' .. table.concat(acks, ",") .. "]}")
    end
  elseif body:sub(1, 8) == '{"acks":' then
    local _, ok = body:gsub('"status":200', "")
    acked = acked + ok
  else
    failed = failed + 1
  end
end
