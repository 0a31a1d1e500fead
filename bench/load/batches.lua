-- The cycle in batches: enqueue n, claim n, ack n as three requests. Jobs count when they are acked.
-- Arguments: the queue, the job, n. In the job, # stands for a number from 0 to 9.
local report = require("report")
enqueued, claimed, acked, short, failed = 0, 0, 0, 0, 0
setup = report.setup
done = report.done({ "enqueued", "claimed", "acked", "short", "failed" })

local settling, free = {}, 0
local step, n = 0, 0
local enqueue, claim

-- The position behind a plain text. A pattern would take as much processor time here as the service takes.
local function after(body, text, from)
  local _, last = body:find(text, from, true)
  return last and last + 1
end

local function uuid(body, from) return body:sub(from, from + 35) end

function init(args)
  n = tonumber(args[3])
  local jobs = {}
  for i = 1, n do jobs[i] = (args[2]:gsub("#", tostring(i % 10))) end
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
  step = step + 1
  if step % 2 == 0 then return claim end
  return enqueue
end

function response(status, headers, body)
  if status == 201 then
    enqueued = enqueued + n
  elseif status ~= 200 then
    failed = failed + 1
  elseif body:sub(1, 8) == '{"jobs":' then
    local acks = {}
    local id = after(body, '{"id":"', 1)
    while id do
      local token = after(body, '"lease_token":"', id)
      acks[#acks + 1] = '{"id":"' .. uuid(body, id) .. '","lease_token":"' .. uuid(body, token) .. '"}'
      id = after(body, '{"id":"', token)
    end
    claimed = claimed + #acks
    if #acks < n then short = short + 1 end
    if #acks > 0 then
      free = free + 1
      settling[free] = report.post("/jobs/settle", '{"acks":[' .. table.concat(acks, ",") .. "]}")
    end
  elseif body:sub(1, 8) == '{"acks":' then
    local at = after(body, '"status":200', 1)
    while at do
      acked = acked + 1
      at = after(body, '"status":200', at)
    end
  else
    failed = failed + 1
  end
end
