# Folded stacks of standard input in one spelling: `perl -MStacks -e 'spell { ... }'` prints the sum
# of each stack, sorted. The block gets a line's frames and returns those to keep.
package Stacks;
use strict;
use warnings;
use Exporter 'import';
our @EXPORT = ('spell');

sub spell(&) {
	my ($keep) = @_;
	my %sum;
	while (my $line = <STDIN>) {
		chomp $line;
		$line =~ /^(.*) (\d+)$/ or die "no count in: $line\n";
		my ($stack, $count) = ($1, $2);
		$sum{join ';', $keep->(split /;/, $stack, -1)} += $count;
	}
	print "$_ $sum{$_}\n" for sort keys %sum;
}

1;
