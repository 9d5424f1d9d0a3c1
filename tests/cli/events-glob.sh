# A pattern is for whole names, words for any place; all must fit.
culprit events 'LLC*misses' | sed -n 's/^[-+] \(LLC[^ ]*\).*/\1/p'
culprit events tlb store | sed -n 's/^[-+] \([di]TLB[^ ]*\).*/\1/p'
