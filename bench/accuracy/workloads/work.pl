# regular expressions, hashes, sorting, integer arithmetic, splitting
use strict;
my $text = do { open my $in, '<', $ARGV[0] or die; local $/; <$in> };
$text = substr $text, 0, 1_200_000;
for my $round (1 .. 6) {
	my %count;
	$count{lc $1}++ while $text =~ /([A-Za-z_]+)/g;
	my @names = sort { $count{$b} <=> $count{$a} || $a cmp $b } keys %count;
	my $mixed = 0;
	for my $i (1 .. 600_000) {
		$mixed = ($mixed * 37 + $i) % 1_000_033;
		$mixed ^= 1 if $mixed & 4;
	}
	my $found = 0;
	for (split /\n/, $text) { $found++ if /^\s*(sub|my|use)\s+(\w+)/ }
	print "$names[0] $names[1] $mixed $found\n";
}
