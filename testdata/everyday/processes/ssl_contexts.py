# TLS: contexts with the system's certificates, hashes, keys.
import hashlib
import hmac
import ssl

context = ssl.create_default_context()
paths = ssl.get_default_verify_paths()
if paths.cafile:
    assert context.cert_store_stats()["x509_ca"] > 0
assert context.check_hostname and ssl.OPENSSL_VERSION
assert hashlib.sha256(b"x").hexdigest().startswith("2d711642")
assert hashlib.pbkdf2_hmac("sha256", b"x", b"y", 1000) and hashlib.scrypt(
    b"x", salt=b"y", n=2, r=8, p=1
)
assert hmac.new(b"key", b"x", "sha256").digest()
with open(__import__("os").__file__, "rb") as source:
    assert hashlib.file_digest(source, "md5") if hasattr(hashlib, "file_digest") else True
print("ok")
