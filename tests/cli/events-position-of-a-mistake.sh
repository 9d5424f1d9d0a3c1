status=0
culprit events encode 'page-faults,{cycles:k,instructions:x}' || status=$?
culprit events encode '{cycles,instructions' || status=$?
culprit events encode 'cpu-clock:pp' || status=$?
culprit events encode 'cycles,,branches' || status=$?
exit $status
