/* Signs and verifies with blst: hand-written assembly next to compiled code. */
#include <stdio.h>
#include <string.h>

#include "blst.h"

enum { SIGNERS = 3 };

static const byte tag[] = "CAIRN_ORACLE_";

static void print(const char *what, const byte *b, size_t n) {
  printf("%s ", what);
  while (n--) printf("%02x", *b++);
  puts("");
}

/* Tables and scratch space are the caller's. */
static void multiply(const blst_p1_affine *points, const blst_scalar *keys) {
  static limb_t scratch[1 << 14];
  if (blst_p1s_mult_pippenger_scratch_sizeof(SIGNERS) > sizeof scratch) return;
  const blst_p1_affine *p[] = {points, 0};
  const byte *k[] = {keys[0].b, keys[1].b, keys[2].b};
  blst_p1 sum;
  byte out[48];
  blst_p1s_mult_pippenger(&sum, p, SIGNERS, k, 255, scratch);
  blst_p1_compress(out, &sum);
  print("sum", out, sizeof out);
}

int main(void) {
  blst_scalar key[SIGNERS];
  blst_p1_affine public[SIGNERS];
  blst_p2_affine signature[SIGNERS];
  blst_p2 all;
  byte text[192], message[40];
  memset(&all, 0, sizeof all);
  for (int i = 0; i < SIGNERS; i++) {
    blst_p1 pk;
    blst_p2 hash, sig;
    memset(message, 'a' + i, sizeof message);
    blst_keygen(&key[i], message, 32, 0, 0);
    blst_sk_to_pk_in_g1(&pk, &key[i]);
    blst_p1_to_affine(&public[i], &pk);
    blst_hash_to_g2(&hash, message, sizeof message, tag, sizeof tag - 1, 0, 0);
    blst_sign_pk_in_g1(&sig, &hash, &key[i]);
    blst_p2_to_affine(&signature[i], &sig);
    blst_p2_add_or_double_affine(&all, &all, &signature[i]);
    blst_p2_compress(text, &sig);
    print("signature", text, 96);
    printf("verify %d, of another key %d\n",
           blst_core_verify_pk_in_g1(&public[i], &signature[i], 1, message, sizeof message, tag, sizeof tag - 1, 0, 0),
           blst_core_verify_pk_in_g1(&public[0], &signature[i], 1, message, sizeof message, tag, sizeof tag - 1, 0, 0));
  }
  blst_p2_serialize(text, &all);
  print("aggregate", text, sizeof text);
  blst_p2_affine back;
  printf("read back %d\n", blst_p2_deserialize(&back, text));
  text[5]++;
  printf("damaged %d\n", blst_p2_deserialize(&back, text));
  multiply(public, key);
  return 0;
}
