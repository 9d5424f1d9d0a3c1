-- calls, a sort with many compares, tables keyed by strings, pattern matching
local function fibonacci(n)
	if n < 2 then return n end
	return fibonacci(n - 1) + fibonacci(n - 2)
end
for round = 1, 6 do
	local numbers = {}
	for i = 1, 200000 do numbers[i] = (i * 7907) % 100019 end
	table.sort(numbers)
	local sum = 0
	for i = 1, #numbers do sum = sum + numbers[i] * i % 7 end
	local counts = {}
	for i = 1, 100000 do
		local key = "key" .. (i % 5009)
		counts[key] = (counts[key] or 0) + 1
	end
	local text = string.rep("the quick brown fox jumps ", 4000)
	local words = 0
	for _ in text:gmatch("%a+") do words = words + 1 end
	print(fibonacci(25), sum, words)
end
