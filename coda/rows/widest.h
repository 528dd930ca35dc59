// For functions whose loops become vectors: compiled for wider ones too, and the widest that the
// machine has are taken when the library is loaded. Bits are the same, because products are not
// fused with additions (-ffp-contract=off). Host only.
#pragma once

// Builds by clang and with sanitizers are for checks: one copy is enough there.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define CODA_WIDEST [[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]]
#else
#define CODA_WIDEST
#endif
