"""When Argo CD calls a run healthy: the keys of `argocd-cm`.

A sync with `PruneLast` waits until what it has made is healthy. A run that waits in a queue, or
trains for days, must not keep it waiting: both are healthy. Only a run that has failed is not.
Argo CD's own check of a batch Job says Progressing or Suspended for such runs. The one here takes
its place for all Jobs, so for those of others it says what that one says: hooks rely on it.
"""

from __future__ import annotations

_RUN = """\
local status = { status = "Healthy", message = "waits or runs" }
for _, condition in ipairs(obj.status ~= nil and obj.status.conditions or {}) do
  if condition.status == "True" then
    if condition.type == "Failed" then
      return { status = "Degraded", message = condition.message or "failed" }
    elseif condition.type == "@DONE@" then
      status.message = condition.message or "done"
    end
  end
end
return status
"""
_OTHERS = """\
local annotations = obj.metadata.annotations or {}
if annotations["runwright/run"] == nil then
  local found = { status = "Progressing", message = "" }
  local failed, suspended = nil, false
  for _, condition in ipairs(obj.status ~= nil and obj.status.conditions or {}) do
    if condition.type == "Failed" then
      failed = condition.message or ""
    elseif condition.type == "Complete" or condition.type == "Suspended" then
      found = { status = "Healthy", message = condition.message or "" }
      suspended = suspended or (condition.type == "Suspended" and condition.status == "True")
    end
  end
  if failed ~= nil then
    return { status = "Degraded", message = failed }
  elseif suspended then
    return { status = "Suspended", message = found.message }
  end
  return found
end
"""
# A Workload of Kueue is a child of its run, and no part of the health of an Application; people
# see its state in the tree.
_WORKLOAD = """\
for _, condition in ipairs(obj.status ~= nil and obj.status.conditions or {}) do
  if condition.type == "Admitted" and condition.status == "True" then
    return { status = "Healthy", message = condition.message or "admitted" }
  elseif condition.type == "Finished" and condition.status == "True" then
    return { status = "Healthy", message = condition.message or "finished" }
  end
end
return { status = "Suspended", message = "waits for quota" }
"""
_KEY = "resource.customizations.health."


def settings() -> dict[str, str]:
    """The keys and values, for every kind of run and for Kueue's Workload."""
    return {
        f"{_KEY}batch_Job": _OTHERS + _RUN.replace("@DONE@", "Complete"),
        f"{_KEY}kubeflow.org_PyTorchJob": _RUN.replace("@DONE@", "Succeeded"),
        f"{_KEY}kueue.x-k8s.io_Workload": _WORKLOAD,
    }
