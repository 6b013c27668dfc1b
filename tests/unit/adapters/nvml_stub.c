/* A stand-in for libnvidia-ml with its real entry points: two H100, the first with MIG. */
#include <string.h>
typedef struct { unsigned long long total, free, used; } Memory;
typedef struct { unsigned sm, a, b, c, d, e, f, g; unsigned long long mib; } Attributes;
int nvmlInit_v2(void) { return INIT; }
int nvmlShutdown(void) { return 0; }
int nvmlSystemGetDriverVersion(char *t, unsigned n) { strncpy(t, "575.57.08", n); return 0; }
int nvmlSystemGetCudaDriverVersion_v2(int *v) { *v = 12090; return 0; }
int nvmlDeviceGetCount_v2(unsigned *n) { *n = 2; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **h) { *h = (void *)(unsigned long)(i + 1); return 0; }
int nvmlDeviceGetName(void *h, char *t, unsigned n) { strncpy(t, "NVIDIA H100 80GB HBM3", n); return 0; }
int nvmlDeviceGetUUID(void *h, char *t, unsigned n) {
  strncpy(t, h == (void *)1 ? "GPU-1" : "GPU-2", n); return 0; }
int nvmlDeviceGetMemoryInfo(void *h, Memory *m) {
  m->total = 81559ull << 20; m->free = 5; m->used = 7; return 0; }
int nvmlDeviceGetCudaComputeCapability(void *h, int *a, int *b) { *a = 9; *b = 0; return 0; }
int nvmlDeviceGetMigMode(void *h, unsigned *c, unsigned *p) {
  if (h == (void *)2) return 3;
  *c = 1; *p = 1; return 0; }
int nvmlDeviceGetMaxMigDeviceCount(void *h, unsigned *n) { *n = 3; return 0; }
int nvmlDeviceGetMigDeviceHandleByIndex(void *h, unsigned i, void **d) {
  if (i == 1) return 6;
  *d = (void *)(unsigned long)(10 + i); return 0; }
int nvmlDeviceGetAttributes_v2(void *d, Attributes *a) {
  memset(a, 0, sizeof *a); a->sm = d == (void *)10 ? 60 : 16; a->mib = 9856; return 0; }
