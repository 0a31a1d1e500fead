-- The mixed cycle for wrk: a claim when there is a job for it, an ack for every job claimed, else an enqueue.
-- Each connection sends one request at a time; the thread keeps the leases that wait for their ack.
local json = { ["content-type"] = "application/json" }
local queue = "bench"
local leases = {}
local enqueued, claimed, acked = 0, 0, 0
local turn = 0

local enqueue_body = '{"queue":"' .. queue .. '","payload":{"to":"ada@example.com","template":"welcome","n":1}}'
local claim_body = '{"queues":["' .. queue .. '"]}'

function init(args)
  enqueue_request = wrk.format("POST", "/jobs", json, enqueue_body)
  claim_request = wrk.format("POST", "/jobs/claim", json, claim_body)
end

function request()
  local n = #leases
  if n > 0 then
    local lease = leases[n]
    leases[n] = nil
    return wrk.format("POST", "/jobs/" .. lease.id .. "/ack", json, '{"lease_token":"' .. lease.token .. '"}')
  end
  turn = turn + 1
  if turn % 2 == 0 then return claim_request end
  return enqueue_request
end

function response(status, headers, body)
  if status == 201 then
    enqueued = enqueued + 1
  elseif status == 200 then
    local token = body:match('"lease_token":"([^"]+)"')
    if token then
      leases[#leases + 1] = { id = body:match('"id":"([^"]+)"'), token = token }
    elseif body:find('"completed"', 1, true) then
      acked = acked + 1
    end
  else
    failed = (failed or 0) + 1
  end
end
