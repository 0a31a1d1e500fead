-- The cycle with everything that moves jobs: random priorities from -100 to 100, one job in ten delayed by up
-- to two seconds, one lease in ten nacked (and back within a second). A cycle counts when it is acked.
-- Argument: the queue.
local report = require("report")
enqueued, claimed, acked, nacked, empty, failed = 0, 0, 0, 0, 0, 0
setup = report.setup
done = report.done({ "enqueued", "claimed", "acked", "nacked", "empty", "failed" })

local settling, free = {}, 0
local step = 0
local head, claim

function init(args)
  math.randomseed(os.time())
  head = '{"queue":"' .. args[1] .. '","payload":{"to":"ada@example.com","template":"welcome","n":1},"max_attempts":1000,"priority":'
  claim = report.post("/jobs/claim", '{"queues":["' .. args[1] .. '"]}')
end

function request()
  if free > 0 then
    local settle = settling[free]
    settling[free] = nil
    free = free - 1
    return settle
  end
  step = step + 1
  if step % 2 == 0 then return claim end
  local delay = ""
  if math.random(10) == 1 then delay = ',"delay_seconds":' .. math.random(20) / 10 end
  return report.post("/jobs", head .. math.random(-100, 100) .. delay .. "}")
end

function response(status, headers, body)
  if status == 201 then
    enqueued = enqueued + 1
  elseif status ~= 200 then
    failed = failed + 1
  elseif body:sub(1, 8) == '{"jobs":' then
    local token = body:match('"lease_token":"([^"]+)"')
    if not token then
      empty = empty + 1
      return
    end
    claimed = claimed + 1
    local path = "/jobs/" .. body:match('"id":"([^"]+)"')
    free = free + 1
    if math.random(10) == 1 then
      settling[free] = report.post(path .. "/nack", '{"lease_token":"' .. token .. '","error":"busy","delay_seconds":' .. math.random(0, 10) / 10 .. "}")
    else
      settling[free] = report.post(path .. "/ack", '{"lease_token":"' .. token .. '"}')
    end
  elseif body:find('"state":"completed"', 1, true) then
    acked = acked + 1
  else
    nacked = nacked + 1
  end
end
