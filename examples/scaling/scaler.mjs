/**
 * How many workers KEDA would have now. `values` are what the triggers' queries give. `idleSeconds`: for how long no
 * trigger has been active.
 */
export function replicasFor({ minReplicaCount, maxReplicaCount, cooldownPeriod, triggers }, values, state) {
  const isActive = triggers.some(({ metadata }, i) => values[i] > Number(metadata.activationThreshold));
  if (!isActive && state.idleSeconds >= cooldownPeriod) return minReplicaCount;
  if (!isActive && state.replicas === 0) return 0;
  const wanted = triggers.map(({ metadata }, i) => Math.ceil(values[i] / Number(metadata.threshold)));
  return Math.min(maxReplicaCount, Math.max(1, minReplicaCount, ...wanted));
}
