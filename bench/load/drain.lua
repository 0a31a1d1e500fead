-- Workers: settle n and claim n in one request. Jobs count when they are acked. Arguments: the queue, n.
local report = require("report")
claimed, acked, empty, failed = 0, 0, 0, 0
setup = report.setup
done = report.done({ "claimed", "acked", "empty", "failed" })

local settling, free = {}, 0
local claim, wish

function init(args)
  wish = '"claim":{"queues":["' .. args[1] .. '"],"limit":' .. args[2] .. "}}"
  claim = report.post("/jobs/settle", "{" .. wish)
end

function request()
  if free == 0 then return claim end
  local settle = settling[free]
  settling[free] = nil
  free = free - 1
  return settle
end

function response(status, headers, body)
  if status ~= 200 then
    failed = failed + 1
    return
  end
  local jobs = body:find('"jobs":[', 1, true)
  local _, ok = body:sub(1, jobs):gsub('"state":"completed"', "")
  acked = acked + ok
  local acks = {}
  for id, token in body:sub(jobs):gmatch('{"id":"([^"]+)".-"lease_token":"([^"]+)"') do
    acks[#acks + 1] = '{"id":"' .. id .. '","lease_token":"' .. token .. '"}'
  end
  if #acks == 0 then
    empty = empty + 1
    return
  end
  claimed = claimed + #acks
  free = free + 1
  settling[free] = report.post("/jobs/settle", '{"acks":[' .. table.concat(acks, ",") .. "]," .. wish)
end
