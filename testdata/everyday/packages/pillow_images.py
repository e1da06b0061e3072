# Pillow: pictures in several formats.
# needs: PIL
from PIL import Image, ImageDraw, ImageFilter, ImageFont

image = Image.new("RGB", (200, 100), "white")
ImageDraw.Draw(image).text((10, 10), "Text", fill="black", font=ImageFont.load_default(20))
for kind in "png", "jpeg", "gif", "tiff", "webp":
    image.filter(ImageFilter.BLUR).save(f"picture.{kind}")
    assert Image.open(f"picture.{kind}").size == (200, 100)
print("ok")
