// Two libraries in one program of C++: results that the caller has memory for, and complex numbers.
#include <complex>
#include <cstdio>
#include <vector>

#include "rotated.h"
#include "scaled.h"

int main()
{
    std::vector<double> A(7 * 5), B(A.size());
    for (std::size_t i = 0; i < A.size(); i++)
        A[i] = 0.5 * static_cast<double>(i);
    double sum = 0;
    int status = scaled(A.data(), 3.0, B.data(), &sum, 7, 5);
    if (status != SCALED_OK) {
        std::fprintf(stderr, "%s\n", scaled_error(status));
        return 1;
    }
    for (double each : B)
        std::printf("%.17g\n", each);
    std::printf("%.17g\n", sum);
    if (scaled(A.data(), 3.0, A.data(), &sum, 7, 5) != SCALED_OVERLAP)
        return 2;

    std::vector<std::complex<double>> Z{{1, 2}, {3, -1}, {0, 0.5}};
    std::complex<double> last;
    status = rotated(0.0, 1.0, Z.data(), 0.25, -0.5, &last, static_cast<int64_t>(Z.size()));
    if (status != ROTATED_OK)
        return 3;
    Z.push_back(last);
    for (const auto &each : Z)
        std::printf("%.17g\n%.17g\n", each.real(), each.imag());
    return 0;
}
