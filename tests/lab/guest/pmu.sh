# The counters themselves: what every other check of the lab stands on.
# boots: exact exact-6.12 double
"$KERNELS/pmu_proof" "$LAB_ICOUNT"
