# SPDX-License-Identifier: MIT
# Products of integers, of which any order of sums makes the same.
a <- matrix(floor(runif(120000, 0, 100)), 400, 300)
b <- matrix(floor(runif(150000, 0, 100)), 300, 500)
c <- a %*% b
d <- matrix(0, 400, 500)
for (i in 1:300) d <- d + outer(a[, i], b[i, ])
stopifnot(identical(c, d), identical(crossprod(a, c), t(crossprod(c, a))))
z <- matrix(complex(real = floor(runif(3000, 0, 10)),
                    imaginary = floor(runif(3000, 0, 10))), 50, 60)
w <- z %*% t(z)
stopifnot(identical(Re(w), Re(z) %*% t(Re(z)) - Im(z) %*% t(Im(z))))
