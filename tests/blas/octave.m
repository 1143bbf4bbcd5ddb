% SPDX-License-Identifier: MIT
% Products of integers, of which any order of sums makes the same.
a = fix (rand (400, 300) * 100); b = fix (rand (300, 500) * 100);
c = a * b;
d = zeros (400, 500);
for i = 1:300
  d += a(:, i) * b(i, :);
end
assert (c, d);
assert (single (a) * single (b), single (d));
z = complex (fix (rand (50, 60) * 10), fix (rand (50, 60) * 10));
w = z * z.';
assert (real (w), real (z) * real (z)' - imag (z) * imag (z)');
assert (a' * c, (c' * a)');
