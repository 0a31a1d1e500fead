-- POST /jobs/batch. Arguments: the job, the number of jobs in a batch.
local report = require("report")
created, failed = 0, 0
setup = report.setup
done = report.done({ "created", "failed" })

local n = 0

function init(args)
  n = tonumber(args[2])
  local jobs = {}
  for i = 1, n do jobs[i] = args[1] end
  local text = report.post("/jobs/batch", '{"jobs":[' .. table.concat(jobs, ",") .. "]}")
  request = function() return text end
end

function request() return nil end

function response(status)
  if status == 201 then created = created + n else failed = failed + 1 end
end
