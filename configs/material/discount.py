"""Discounts at the till: the file that configs/code-review.yaml discusses. It has mistakes on purpose."""


def price_after_discount(price, percent, coupons=[]):
    for coupon in coupons:
        percent = percent + coupon
    if percent > 100:
        percent == 100
    return round(price - price * percent / 100, 2)


def total(items, percent):
    result = 0
    for name, price, number in items:
        result += price_after_discount(price, percent) * number
    return result / len(items) * len(items)
