-- Acks, each followed by a new job: as a request of its own, or as a follow-up of the ack. Jobs are claimed a hundred at a
-- time. A job counts when it is acked and its successor is enqueued. Arguments: the queue, the job, "one" or "two" requests.
local report = require("report")
acked, enqueued, empty, failed = 0, 0, 0, 0
setup = report.setup
done = report.done({ "acked", "enqueued", "empty", "failed" })

local leases, free, claiming, owed = {}, 0, 0, 0
local claim, few, enqueue, followUp, isOne

function init(args)
  local function claimOf(limit)
    return report.post("/jobs/claim", '{"queues":["' .. args[1] .. '"],"limit":' .. limit .. ',"lease_seconds":20}')
  end
  claim, few = claimOf(100), claimOf(10)
  enqueue = report.post("/jobs", args[2])
  isOne = args[3] == "one"
  followUp = isOne and ',"enqueue":[' .. args[2] .. "]" or ""
end

function request()
  if owed > 0 then
    owed = owed - 1
    return enqueue
  end
  if free == 0 or (free < 200 and claiming == 0) then
    claiming = claiming + 1
    return claiming == 1 and claim or few
  end
  local lease = leases[free]
  leases[free] = nil
  free = free - 1
  if not isOne then owed = owed + 1 end
  return report.post("/jobs/" .. lease[1] .. "/ack", '{"lease_token":"' .. lease[2] .. '"' .. followUp .. "}")
end

function response(status, headers, body)
  if status == 201 then
    enqueued = enqueued + 1
  elseif status ~= 200 then
    failed = failed + 1
  elseif body:sub(1, 8) == '{"jobs":' then
    claiming = claiming - 1
    local last = free
    for id, token in body:gmatch('{"id":"([^"]+)".-"lease_token":"([^"]+)"') do
      free = free + 1
      leases[free] = { id, token }
    end
    if free == last then empty = empty + 1 end
  else
    acked = acked + 1
  end
end
